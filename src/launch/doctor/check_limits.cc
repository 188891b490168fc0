#include "launch/doctor/check_limits.h"

#include <fmt/format.h>

#include <algorithm>

namespace capstan {
namespace {

constexpr uint64_t kMiB = 1 << 20;
constexpr uint64_t kGoodOpenFiles = 4096;
// In addition to connections: the program's own files, libraries, logs.
constexpr uint64_t kOtherFiles = 128;
constexpr uint64_t kGoodThreads = 1024;
constexpr uint64_t kGoodMemory = 512 * kMiB;
constexpr uint64_t kLeastMemory = 64 * kMiB;
constexpr uint64_t kGoodBacklog = 512;
constexpr uint64_t kGoodDisk = 1024 * kMiB;
constexpr uint64_t kLeastDisk = 64 * kMiB;

std::string CountText(uint64_t count) {
  return count == MachineFacts::kUnlimited ? "unlimited"
                                           : fmt::format("{}", count);
}

std::string SizeText(uint64_t bytes) {
  const double mib = static_cast<double>(bytes) / static_cast<double>(kMiB);
  return mib < 1024 ? fmt::format("{:.0f} MiB", mib)
                    : fmt::format("{:.1f} GiB", mib / 1024);
}

FindingLevel LevelOf(uint64_t value, uint64_t least, uint64_t good) {
  if (value < least) return FindingLevel::kProblem;
  return value < good ? FindingLevel::kWarning : FindingLevel::kOk;
}

// Drops `remedy` if all is well.
Finding MakeFinding(FindingLevel level, std::string what, std::string remedy) {
  if (level == FindingLevel::kOk) remedy.clear();
  return {level, std::move(what), std::move(remedy)};
}

Finding CheckOpenFiles(const MachineFacts& facts, int tasks) {
  // A coordinator has two connections to each task, and each task may have
  // opened as many to it.
  const uint64_t least = 4 * static_cast<uint64_t>(tasks) + kOtherFiles;
  const uint64_t wanted = std::max(least, kGoodOpenFiles);
  // Tasks raise the limit themselves, as far as they are allowed to.
  const uint64_t limit =
      std::max(*facts.open_files, facts.open_files_hard.value_or(0));
  return MakeFinding(
      LevelOf(limit, least, wanted),
      fmt::format("open files: a task may have {} at once", CountText(limit)),
      fmt::format("ask an administrator to allow {} (nofile in "
                  "/etc/security/limits.conf, or LimitNOFILE= of systemd)",
                  wanted));
}

Finding CheckThreads(const MachineFacts& facts) {
  return MakeFinding(
      LevelOf(*facts.threads, 0, kGoodThreads),
      fmt::format("threads: at most {} at once", CountText(*facts.threads)),
      fmt::format("allow {}: ulimit -u, or TasksMax= of systemd, or "
                  "the container's limit of processes",
                  kGoodThreads));
}

Finding CheckMemory(const MachineFacts& facts) {
  return MakeFinding(
      LevelOf(*facts.memory_bytes, kLeastMemory, kGoodMemory),
      fmt::format("memory: {} available", SizeText(*facts.memory_bytes)),
      "end what else runs here, or give the machine or container more");
}

Finding CheckBacklog(const MachineFacts& facts, int tasks) {
  const uint64_t wanted =
      std::max(2 * static_cast<uint64_t>(tasks), kGoodBacklog);
  return MakeFinding(
      LevelOf(*facts.somaxconn, 0, wanted),
      fmt::format("connections: {} may wait to be accepted", *facts.somaxconn),
      "when many tasks start at once some will have to try again; "
      "run, as root: sysctl -w net.core.somaxconn=4096");
}

Findings CheckFolder(const MachineFacts& facts) {
  if (!facts.folder_is_writable) {
    return {{FindingLevel::kProblem,
             fmt::format("folder '{}': cannot be written", facts.folder),
             "`capstan run` keeps its logs in the current folder: go to one of "
             "your own"}};
  }
  if (!facts.disk_bytes) return {};
  return {MakeFinding(LevelOf(*facts.disk_bytes, kLeastDisk, kGoodDisk),
                      fmt::format("folder '{}': writable, {} free",
                                  facts.folder, SizeText(*facts.disk_bytes)),
                      "free some of that disk, or go to another")};
}

}  // namespace

Findings CheckLimits(const MachineFacts& facts, int tasks) {
  Findings findings;
  if (facts.open_files) findings.push_back(CheckOpenFiles(facts, tasks));
  if (facts.threads) findings.push_back(CheckThreads(facts));
  if (facts.memory_bytes) findings.push_back(CheckMemory(facts));
  if (facts.somaxconn) findings.push_back(CheckBacklog(facts, tasks));
  Append(CheckFolder(facts), findings);
  return findings;
}

}  // namespace capstan
