// A StepConfig as text, to be passed as the argument of a function.
#pragma once

#include <string>
#include <string_view>

#include "capstan/trainer.h"

namespace capstan {

// Equal configs give equal texts.
std::string EncodeOrder(const StepConfig& order);
// Throws kInvalidArgument for malformed text.
StepConfig DecodeOrder(std::string_view text);

}  // namespace capstan
