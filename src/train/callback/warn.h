// What a callback says when something is wrong that does not end the training.
#pragma once

#include <string_view>

#include "capstan/callback.h"

namespace capstan {

// A line on standard error, with the name of the callback.
void Warn(const Callback& callback, std::string_view text);

}  // namespace capstan
