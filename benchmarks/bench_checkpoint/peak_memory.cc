#include "bench_checkpoint/peak_memory.h"

#include <cerrno>
#include <fstream>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace capstan::bench {

absl::Status ResetPeakMemory(pid_t process) {
  const std::string path = absl::StrCat("/proc/", process, "/clear_refs");
  std::ofstream file(path);
  file << "5\n";
  file.close();
  if (!file) return absl::ErrnoToStatus(errno, absl::StrCat("write ", path));
  return absl::OkStatus();
}

absl::StatusOr<std::uint64_t> PeakMemory(pid_t process) {
  const std::string path = absl::StrCat("/proc/", process, "/status");
  std::ifstream file(path);
  std::string line;
  while (std::getline(file, line)) {
    absl::string_view value = line;
    std::uint64_t kilobytes = 0;
    if (absl::ConsumePrefix(&value, "VmHWM:") &&
        absl::ConsumeSuffix(&value, "kB") &&
        absl::SimpleAtoi(value, &kilobytes)) {
      return kilobytes * 1024;
    }
  }
  return absl::NotFoundError(absl::StrCat(path, " has no VmHWM"));
}

}  // namespace capstan::bench
