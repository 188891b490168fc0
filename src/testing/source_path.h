// Where the repository's own files are. Test-only.
#pragma once

#include <string>
#include <string_view>

namespace capstan::testing {

// The absolute path of `name` in the source tree that this was built from.
std::string SourcePath(std::string_view name);

}  // namespace capstan::testing
