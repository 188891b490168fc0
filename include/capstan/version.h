// The version of Capstan. Until 1.0 any minor version may change the API; a
// patch version never does.
#pragma once

#include <string_view>

#include "capstan/export.h"

// The version of these headers, for #if. CMakeLists.txt reads it from here.
#define CAPSTAN_VERSION_MAJOR 0
#define CAPSTAN_VERSION_MINOR 1
#define CAPSTAN_VERSION_PATCH 0

namespace capstan {

// The version of the library that the program runs with, such as "0.1.0".
// Cannot fail; the text is valid forever. Thread-safe.
CAPSTAN_EXPORT std::string_view Version() noexcept;

}  // namespace capstan
