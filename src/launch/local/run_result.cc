#include "launch/local/run_result.h"

#include <fmt/chrono.h>
#include <fmt/core.h>

#include <charconv>
#include <chrono>
#include <memory>
#include <sstream>
#include <string_view>
#include <system_error>

#include "base/file/file_system.h"
#include "base/file/posix_file_system.h"
#include "base/status.h"
#include "launch/system/printable.h"

namespace capstan {
namespace {

constexpr uint64_t kMaxBytes = 1 << 16;

// Whether `line` starts with `prefix`, which is then removed.
bool TakePrefix(std::string& line, std::string_view prefix) {
  if (!line.starts_with(prefix)) return false;
  line.erase(0, prefix.size());
  return true;
}

}  // namespace

std::string EndText(WallTime time) {
  return fmt::format(
      "{:%Y-%m-%d %H:%M:%S} UTC",
      fmt::gmtime(std::chrono::system_clock::to_time_t(
          std::chrono::floor<std::chrono::system_clock::duration>(time))));
}

std::string FormatRunResult(const RunResult& result) {
  // One line each, even if a name contains line feeds.
  return fmt::format("exit_code: {}\nended: {}\nreason: {}\n", result.exit_code,
                     result.ended, Printable(result.reason));
}

absl::StatusOr<RunResult> ParseRunResult(const std::string& text) {
  RunResult result;
  bool has_code = false;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (TakePrefix(line, "exit_code: ")) {
      const auto [end, error] = std::from_chars(
          line.data(), line.data() + line.size(), result.exit_code);
      has_code = error == std::errc() && end == line.data() + line.size();
    } else if (TakePrefix(line, "ended: ")) {
      result.ended = Printable(line);
    } else if (TakePrefix(line, "reason: ")) {
      result.reason = Printable(line);
    }
  }
  if (!has_code || result.ended.empty()) {
    return absl::InvalidArgumentError("no exit_code and ended");
  }
  return result;
}

absl::StatusOr<RunResult> ReadRunResult(const std::string& cluster_file) {
  const std::string folder(DirectoryOf(cluster_file));
  auto files = PosixFileSystem::Open(folder.empty() ? "." : folder);
  CAPSTAN_RETURN_IF_ERROR(files.status());
  const absl::StatusOr<std::string> text =
      ReadFile(**files, "result", kMaxBytes);
  CAPSTAN_RETURN_IF_ERROR(text.status());
  return ParseRunResult(*text);
}

}  // namespace capstan
