#include "train/fit/check_fit_options.h"

#include "absl/strings/str_cat.h"
#include "capstan/error.h"

namespace capstan {
namespace {

void Require(bool holds, const std::string& otherwise) {
  if (!holds) throw Error(ErrorCode::kInvalidArgument, "Fit: " + otherwise);
}

}  // namespace

void CheckFitOptions(const FitOptions& options, const UpdateMode& update) {
  Require(options.epochs >= 0,
          absl::StrCat("epochs must not be negative, but is ", options.epochs));
  Require(options.initial_epoch >= 0,
          absl::StrCat("initial_epoch must not be negative, but is ",
                       options.initial_epoch));
  Require(!options.steps_per_epoch || *options.steps_per_epoch >= 1,
          absl::StrCat("steps_per_epoch must be at least 1, not ",
                       options.steps_per_epoch.value_or(0)));
  Require(options.steps_per_execution >= 1,
          absl::StrCat("steps_per_execution must be at least 1, not ",
                       options.steps_per_execution));
  Require(
      options.steps_per_execution == 1 || !std::holds_alternative<Sync>(update),
      "steps_per_execution must be 1 in synchronous training, where a step "
      "is one replica's part of a round");
  Require(options.validation_split >= 0 && options.validation_split < 1,
          absl::StrCat("validation_split must be at least 0 and below 1, not ",
                       options.validation_split));
  Require(options.validation_split == 0 || !options.validation_data,
          "validation_split and validation_data exclude one another");
  Require(options.validation_split == 0 || !options.steps_per_epoch,
          "validation_split needs whole epochs: leave out steps_per_epoch");
  Require(options.validation_freq >= 1,
          absl::StrCat("validation_freq must be at least 1, not ",
                       options.validation_freq));
}

}  // namespace capstan
