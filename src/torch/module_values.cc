// Copies the values of a model into a libtorch module and back.
#include <string>
#include <utility>
#include <vector>

#include "capstan/error.h"
#include "capstan/torch.h"
#include "torch/dtype.h"
#include "torch/module_tensors.h"

namespace capstan {
namespace {

struct NamedTensors {
  std::vector<std::string> names;  // of the variables
  std::vector<torch::Tensor> tensors;
};

NamedTensors VariablesOf(const std::string& model,
                         const torch::nn::Module& module) {
  NamedTensors found;
  const auto add = [&](const auto& items) {
    for (const auto& [name, tensor] : items) {
      found.names.push_back(model + "/" + name);
      found.tensors.push_back(tensor);
    }
  };
  const ModuleTensors tensors = TensorsOf(module);
  add(tensors.parameters);
  add(tensors.buffers);
  return found;
}

[[noreturn]] void Refuse(const std::string& variable,
                         const torch::Tensor& value, const std::string& there) {
  throw Error(ErrorCode::kInvalidArgument,
              "variable '" + variable + "' is " + there +
                  ", and the module's " + FromTorch(value).shape().ToString() +
                  " of " + c10::toString(value.scalar_type()));
}

}  // namespace

void CopyValues(Trainer& trainer, torch::nn::Module& module) {
  const NamedTensors into = VariablesOf(trainer.model().name(), module);
  std::vector<Tensor> values;
  try {
    values = trainer.coordinator().ReadAll(into.names);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kNotFound) throw;
    throw Error(ErrorCode::kInvalidArgument,
                "the module is not of the model '" + trainer.model().name() +
                    "': " + std::string(error.message()));
  }
  const torch::NoGradGuard no_gradients;
  for (size_t i = 0; i < values.size(); ++i) {
    const torch::Tensor value = ToTorch(values[i]);
    torch::Tensor target = into.tensors[i].detach();
    const bool fits =
        value.scalar_type() == target.scalar_type() ||
        (value.scalar_type() == torch::kFloat32 && IsHalf(target));
    if (!fits || value.sizes() != target.sizes()) {
      Refuse(into.names[i], target, values[i].shape().ToString());
    }
    target.copy_(value);
  }
}

void AssignValues(Trainer& trainer, const torch::nn::Module& module) {
  const NamedTensors from = VariablesOf(trainer.model().name(), module);
  std::vector<VariableUpdate> updates;
  for (size_t i = 0; i < from.names.size(); ++i) {
    torch::Tensor value = from.tensors[i].detach();
    if (from.tensors[i].requires_grad() && IsHalf(value)) {
      value = value.to(torch::kFloat32);
    }
    updates.push_back({from.names[i], FromTorch(value)});
  }
  try {
    trainer.coordinator().Apply(Operation::kSet, updates);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kNotFound) throw;
    throw Error(ErrorCode::kInvalidArgument,
                "the module is not of the model '" + trainer.model().name() +
                    "': " + std::string(error.message()));
  }
}

}  // namespace capstan
