// Finds the repository's own files. Test-only.
#pragma once

#include <string>
#include <string_view>

namespace capstan::testing {

// The absolute path of `name` in the source tree of this build.
std::string SourcePath(std::string_view name);

}  // namespace capstan::testing
