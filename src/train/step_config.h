// A StepConfig as text, to be an argument of a function.
#pragma once

#include <string>
#include <string_view>

#include "capstan/trainer.h"

namespace capstan {

// Equal orders give equal texts.
std::string EncodeOrder(const StepConfig& order);
// Throws kInvalidArgument for a text that is no order.
StepConfig DecodeOrder(std::string_view text);

}  // namespace capstan
