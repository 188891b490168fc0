#include "testing/temp_dir.h"

#include <stdlib.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <system_error>

namespace capstan::testing {

TempDir::TempDir() {
  path_ = (std::filesystem::temp_directory_path() / "capstan-XXXXXX").string();
  if (mkdtemp(path_.data()) == nullptr) {
    std::fprintf(stderr, "%s: %s\n", path_.c_str(), std::strerror(errno));
    std::abort();
  }
}

TempDir::~TempDir() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace capstan::testing
