// Creates the variables of a model on the servers.
#pragma once

#include <string>
#include <vector>

#include "capstan/trainer.h"

namespace capstan {

// `variables`, ready to be created: with the trainer's update mode and, if they
// have none, its optimizer. Throws kInvalidArgument, naming the variable, if a
// name does not begin with "<model>/" or an initial value has the wrong shape
// or type.
std::vector<ModelVariable> CompleteVariables(
    std::vector<ModelVariable> variables, const std::string& model,
    const TrainerOptions& options);

// Creates them and the i64 `iterations`, with their initial values; all or
// none. Throws kAlreadyExists, saying what to do, if the model already has
// them, and what ClusterCoordinator::CreateVariables throws.
void CreateModelVariables(ClusterCoordinator& coordinator,
                          const std::vector<ModelVariable>& variables,
                          const std::string& iterations,
                          const std::string& model,
                          const Partitioner& partitioner, bool initialize);

}  // namespace capstan
