// Losses, as libtorch computes them.
// Thread-safe: pure functions.
#pragma once

#include <torch/types.h>

#include <map>
#include <string>

#include "capstan/torch.h"
#include "capstan/trainer.h"

namespace capstan {

// The loss of each example: of rank 1, or of rank 0, the mean, if it is a
// user's function that gives that. Throws kInvalidArgument, naming the shapes,
// for predictions and targets that do not go together; kNotFound for a custom
// loss that is not in `custom`.
torch::Tensor LossOfEach(const Loss& loss, const torch::Tensor& predictions,
                         const torch::Tensor& targets,
                         const std::map<std::string, LossFunction>& custom);

// The mean of all examples, in one go: what LossOfEach().mean() is, but cheaper
// where libtorch has it.
torch::Tensor MeanLoss(const Loss& loss, const torch::Tensor& predictions,
                       const torch::Tensor& targets,
                       const std::map<std::string, LossFunction>& custom);

}  // namespace capstan
