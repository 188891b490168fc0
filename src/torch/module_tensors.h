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

// Parameters and buffers. A tensor with several names, as tied weights have, is
// listed once, under its first name.
struct ModuleTensors {
  std::vector<Named<torch::Tensor>> parameters;
  std::vector<Named<torch::Tensor>> buffers;
};
ModuleTensors TensorsOf(const torch::nn::Module& module);

// Embeddings whose rows are on the servers, each listed once in the same way.
std::vector<Named<EmbeddingImpl*>> EmbeddingsOf(
    const torch::nn::Module& module);

}  // namespace capstan
