// The tensors of a module, each once.
// Thread-safe: pure functions.
#pragma once

#include <torch/nn.h>

#include <string>
#include <vector>

#include "capstan/torch.h"

namespace capstan {

template <typename T>
struct Named {
  std::string name;
  T value;
};

// Parameters and buffers. One that has several names, as tied weights have, is
// there once, by the first of them.
struct ModuleTensors {
  std::vector<Named<torch::Tensor>> parameters;
  std::vector<Named<torch::Tensor>> buffers;
};
ModuleTensors TensorsOf(const torch::nn::Module& module);

// Embeddings whose rows are on the servers; in the same way.
std::vector<Named<EmbeddingImpl*>> EmbeddingsOf(
    const torch::nn::Module& module);

}  // namespace capstan
