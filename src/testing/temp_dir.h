// A directory for one test. Test-only.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace capstan::testing {

// Creates an empty directory with a unique name, private to the user, under the
// system's directory for temporary files; the destructor removes it with its
// contents. Aborts if it cannot be created.
class TempDir {
 public:
  TempDir();
  ~TempDir();
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;

  // The absolute path, without a trailing slash.
  const std::string& path() const { return path_; }

  // The path of `name` in the directory.
  std::string operator/(std::string_view name) const {
    return (std::filesystem::path(path_) / name).string();
  }

 private:
  std::string path_;
};

}  // namespace capstan::testing
