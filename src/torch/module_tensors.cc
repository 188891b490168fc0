#include "torch/module_tensors.h"

#include <set>

namespace capstan {

ModuleTensors TensorsOf(const torch::nn::Module& module) {
  ModuleTensors found;
  std::set<const void*> seen;
  const auto add = [&seen](const auto& items, auto& into) {
    for (const auto& item : items) {
      const torch::Tensor& tensor = item.value();
      if (!seen.insert(tensor.unsafeGetTensorImpl()).second) continue;
      into.push_back({item.key(), tensor});
    }
  };
  add(module.named_parameters(), found.parameters);
  add(module.named_buffers(), found.buffers);
  return found;
}

std::vector<Named<EmbeddingImpl*>> EmbeddingsOf(
    const torch::nn::Module& module) {
  std::vector<Named<EmbeddingImpl*>> found;
  std::set<const void*> seen;
  for (const auto& item : module.named_modules()) {
    auto* embedding = dynamic_cast<EmbeddingImpl*>(item.value().get());
    if (embedding == nullptr || !seen.insert(embedding).second) continue;
    found.push_back({item.key(), embedding});
  }
  return found;
}

}  // namespace capstan
