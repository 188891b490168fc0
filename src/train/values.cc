// The values of a model: read, set, saved and loaded.
#include <utility>

#include "absl/strings/str_cat.h"
#include "capstan/error.h"
#include "tensor/view.h"
#include "train/saved_values.h"
#include "train/trainer_impl.h"

namespace capstan {
namespace {

void CheckFits(const VariableSpec& spec, const Tensor& value) {
  if (value.dtype() == spec.dtype && value.shape() == spec.shape) return;
  throw Error(ErrorCode::kInvalidArgument,
              absl::StrCat("variable '", spec.name, "' is ",
                           Describe(spec.dtype, spec.shape), ", and its value ",
                           Describe(value.view())));
}

}  // namespace

std::map<std::string, Tensor> Trainer::Values() {
  std::vector<std::string> names;
  for (const ModelVariable& variable : impl_->variables) {
    names.push_back(variable.spec.name);
  }
  std::vector<Tensor> tensors = impl_->coordinator.ReadAll(names);
  std::map<std::string, Tensor> values;
  for (size_t i = 0; i < names.size(); ++i) {
    values.emplace(names[i], std::move(tensors[i]));
  }
  values.emplace(impl_->IterationsName(), Tensor::Scalar(impl_->iterations));
  return values;
}

void Trainer::SetValues(const std::map<std::string, Tensor>& values) {
  std::vector<VariableUpdate> updates;
  for (const ModelVariable& variable : impl_->variables) {
    const auto found = values.find(variable.spec.name);
    if (found == values.end()) {
      throw Error(ErrorCode::kInvalidArgument,
                  absl::StrCat("there is no value for variable '",
                               variable.spec.name, "'"));
    }
    CheckFits(variable.spec, found->second);
    updates.push_back({variable.spec.name, found->second});
  }
  const auto iterations = values.find(impl_->IterationsName());
  const bool counted = iterations != values.end();
  if (counted) {
    CheckFits({.name = iterations->first, .shape = {}, .dtype = DType::kI64},
              iterations->second);
    updates.push_back({iterations->first, iterations->second});
  }
  if (values.size() != updates.size()) {
    for (const auto& [name, value] : values) {
      bool known = false;
      for (const VariableUpdate& update : updates) {
        known = known || update.variable == name;
      }
      if (known) continue;
      throw Error(ErrorCode::kInvalidArgument,
                  absl::StrCat("the model '", impl_->model.name(),
                               "' has no variable '", name, "'"));
    }
  }
  impl_->coordinator.Apply(Operation::kSet, updates);
  if (counted) impl_->iterations = iterations->second.Values<int64_t>()[0];
}

void Trainer::Save(const std::string& path) {
  SaveValues(
      path, {.values = Values(), .metadata = {{"model", impl_->model.name()}}});
}

void Trainer::Load(const std::string& path) {
  SetValues(LoadValues(path).values);
}

}  // namespace capstan
