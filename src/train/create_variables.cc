#include "train/create_variables.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "capstan/error.h"
#include "tensor/view.h"

namespace capstan {
namespace {

[[noreturn]] void RefuseVariable(const VariableSpec& spec,
                                 const std::string& why) {
  throw Error(ErrorCode::kInvalidArgument,
              absl::StrCat("variable '", spec.name, "' of the model: ", why));
}

void Check(const ModelVariable& variable, const std::string& model) {
  const VariableSpec& spec = variable.spec;
  if (!absl::StartsWith(spec.name, model + "/")) {
    RefuseVariable(spec,
                   absl::StrCat("its name must begin with '", model, "/'"));
  }
  if (!variable.initial) return;
  if (variable.initial->dtype() != spec.dtype ||
      !(variable.initial->shape() == spec.shape)) {
    RefuseVariable(spec,
                   absl::StrCat("it is ", Describe(spec.dtype, spec.shape),
                                ", and its initial value ",
                                Describe(variable.initial->view())));
  }
}

}  // namespace

std::vector<ModelVariable> CompleteVariables(
    std::vector<ModelVariable> variables, const std::string& model,
    const TrainerOptions& options) {
  for (ModelVariable& variable : variables) {
    Check(variable, model);
    VariableSpec& spec = variable.spec;
    if (spec.trainable && !spec.optimizer) spec.optimizer = options.optimizer;
    if (spec.optimizer) spec.update = options.update;
    // The whole variable is about to be assigned.
    if (variable.initial) spec.initializer = Unset{};
  }
  return variables;
}

void CreateModelVariables(ClusterCoordinator& coordinator,
                          const std::vector<ModelVariable>& variables,
                          const std::string& iterations,
                          const std::string& model,
                          const Partitioner& partitioner, bool initialize) {
  std::vector<VariableSpec> specs;
  std::vector<std::string> names;
  std::vector<VariableUpdate> initial;
  for (const ModelVariable& variable : variables) {
    specs.push_back(variable.spec);
    if (variable.initial) {
      initial.push_back({variable.spec.name, *variable.initial});
    }
  }
  specs.push_back({.name = iterations,
                   .shape = {},
                   .dtype = DType::kI64,
                   .trainable = false});
  for (const VariableSpec& spec : specs) names.push_back(spec.name);
  try {
    coordinator.CreateVariables(specs, partitioner);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kAlreadyExists) throw;
    throw Error(ErrorCode::kAlreadyExists,
                absl::StrCat("the model '", model,
                             "' has a Trainer in this job already (",
                             std::string(error.message()),
                             "): use that one, or register the model again "
                             "under another name"));
  }
  if (initial.empty() || !initialize) return;
  try {
    coordinator.Apply(Operation::kSet, initial);
  } catch (const Error&) {
    coordinator.DropVariables(names);
    throw;
  }
}

}  // namespace capstan
