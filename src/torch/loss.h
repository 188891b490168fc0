// Losses, computed by libtorch. Thread-safe: pure functions.
#pragma once

#include <torch/types.h>

#include <map>
#include <string>

#include "capstan/torch.h"
#include "capstan/trainer.h"

namespace capstan {

// The loss of each example, of rank 1; or the mean, of rank 0, if a user's loss
// function returns that. Throws kInvalidArgument, naming the shapes, if
// predictions and targets do not match; kNotFound for a custom loss that is not
// in `custom`.
torch::Tensor LossOfEach(const Loss& loss, const torch::Tensor& predictions,
                         const torch::Tensor& targets,
                         const std::map<std::string, LossFunction>& custom);

// The mean over all examples: same as LossOfEach().mean(), but cheaper if
// libtorch has an operator for it.
torch::Tensor MeanLoss(const Loss& loss, const torch::Tensor& predictions,
                       const torch::Tensor& targets,
                       const std::map<std::string, LossFunction>& custom);

}  // namespace capstan
