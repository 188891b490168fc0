#include "testing/source_path.h"

#include <filesystem>

namespace capstan::testing {

std::string SourcePath(std::string_view name) {
  return (std::filesystem::path(CAPSTAN_SOURCE_DIR) / name).string();
}

}  // namespace capstan::testing
