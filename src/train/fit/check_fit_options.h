// Whether the options of Fit make sense together.
#pragma once

#include "capstan/trainer.h"

namespace capstan {

// Throws kInvalidArgument, naming the option and the remedy.
void CheckFitOptions(const FitOptions& options, const UpdateMode& update);

}  // namespace capstan
