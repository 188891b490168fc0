#include "launch/system/find_program.h"

#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <vector>

namespace capstan {
namespace {

enum class ProgramKind { kNothing, kNotExecutable, kProgram };

ProgramKind LookAt(const std::string& path) {
  struct stat info;
  if (stat(path.c_str(), &info) != 0) return ProgramKind::kNothing;
  const bool runs = S_ISREG(info.st_mode) && access(path.c_str(), X_OK) == 0;
  return runs ? ProgramKind::kProgram : ProgramKind::kNotExecutable;
}

absl::Status NotExecutable(const std::string& path) {
  return absl::PermissionDeniedError(
      fmt::format("cannot run {}: not an executable file", path));
}

}  // namespace

absl::StatusOr<std::string> FindProgram(std::string_view name,
                                        std::string_view search_path) {
  std::vector<std::string> candidates;
  if (name.find('/') != std::string_view::npos) {
    candidates.emplace_back(name);
  } else if (!name.empty()) {
    while (true) {
      const size_t end = search_path.find(':');
      const std::string_view folder = search_path.substr(0, end);
      // An empty folder means the current one.
      candidates.push_back(
          fmt::format("{}/{}", folder.empty() ? "." : folder, name));
      if (end == std::string_view::npos) break;
      search_path.remove_prefix(end + 1);
    }
  }
  std::string refused;
  for (const std::string& candidate : candidates) {
    const ProgramKind found = LookAt(candidate);
    if (found == ProgramKind::kProgram) return candidate;
    if (found == ProgramKind::kNotExecutable && refused.empty())
      refused = candidate;
  }
  if (!refused.empty()) return NotExecutable(refused);
  const bool is_path = name.find('/') != std::string_view::npos;
  return absl::NotFoundError(fmt::format("cannot run {}: no such program{}",
                                         name, is_path ? "" : " in PATH"));
}

int CannotRunExitCode(const absl::Status& status) {
  if (absl::IsNotFound(status)) return 127;
  if (absl::IsPermissionDenied(status)) return 126;
  return 1;
}

}  // namespace capstan
