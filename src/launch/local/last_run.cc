#include "launch/local/last_run.h"

#include <filesystem>
#include <system_error>

namespace capstan {

std::string LastClusterFile(const std::string& folder) {
  namespace fs = std::filesystem;
  std::error_code error;
  fs::path last;
  for (fs::directory_iterator at(fs::path(folder) / "runs", error), end;
       !error && at != end; at.increment(error)) {
    const fs::path file = at->path() / "cluster.yaml";
    std::error_code ignored;
    // The folders' names begin with the time.
    if (file > last && fs::exists(file, ignored)) last = file;
  }
  return last.string();
}

}  // namespace capstan
