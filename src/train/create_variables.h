// The variables of a model, made on the servers.
#pragma once

#include <string>
#include <vector>

#include "capstan/trainer.h"

namespace capstan {

// `variables` as they are to be made: with the trainer's optimizer where they
// have none, and its mode of updating. Throws kInvalidArgument, naming the
// variable, for one whose name does not begin with "<model>/" or whose initial
// value is of another shape or type.
std::vector<ModelVariable> CompleteVariables(
    std::vector<ModelVariable> variables, const std::string& model,
    const TrainerOptions& options);

// Makes them and the i64 `iterations`, with their initial values; all or none.
// Throws kAlreadyExists, saying what to do, if the model has them already, and
// as ClusterCoordinator::CreateVariables.
void CreateModelVariables(ClusterCoordinator& coordinator,
                          const std::vector<ModelVariable>& variables,
                          const std::string& iterations,
                          const std::string& model,
                          const Partitioner& partitioner, bool initialize);

}  // namespace capstan
