// Warnings of callbacks about errors that do not end the training.
#pragma once

#include <string_view>

#include "capstan/callback.h"

namespace capstan {

// Prints a line with the name of the callback to standard error.
void Warn(const Callback& callback, std::string_view text);

}  // namespace capstan
