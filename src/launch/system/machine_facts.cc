#include "launch/system/machine_facts.h"

#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/timex.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <thread>

namespace capstan {
namespace {

static_assert(RLIM_INFINITY == MachineFacts::kUnlimited);

// The container's own directory, if there is a container: cgroup v2 mounts it
// here.
constexpr char kCgroup[] = "/sys/fs/cgroup/";

// The number in a file that holds one; kUnlimited for the word "max".
std::optional<uint64_t> ReadNumber(const std::string& path) {
  std::ifstream file(path);
  std::string word;
  if (!(file >> word)) return std::nullopt;
  if (word == "max") return MachineFacts::kUnlimited;
  if (word.find_first_not_of("0123456789") != std::string::npos ||
      word.size() > 19) {
    return std::nullopt;
  }
  return std::stoull(word);
}

std::optional<uint64_t> Least(std::optional<uint64_t> a,
                              std::optional<uint64_t> b) {
  if (!a || !b) return a ? a : b;
  return std::min(*a, *b);
}

std::optional<uint64_t> AvailableMemory() {
  std::ifstream file("/proc/meminfo");
  std::string name;
  uint64_t kib = 0;
  std::string unit;
  while (file >> name >> kib && std::getline(file, unit)) {
    if (name == "MemAvailable:") return kib << 10;
  }
  return std::nullopt;
}

std::optional<uint64_t> AvailableInCgroup() {
  const std::string cgroup = kCgroup;
  const std::optional<uint64_t> most = ReadNumber(cgroup + "memory.max");
  const std::optional<uint64_t> used = ReadNumber(cgroup + "memory.current");
  if (!most || !used || *most == MachineFacts::kUnlimited) return std::nullopt;
  return *most - std::min(*most, *used);
}

// The word in brackets: "always [madvise] never".
std::string HugePages() {
  std::ifstream file("/sys/kernel/mm/transparent_hugepage/enabled");
  std::string word;
  while (file >> word) {
    if (word.size() > 2 && word.front() == '[') {
      return word.substr(1, word.size() - 2);
    }
  }
  return "";
}

void ReadComputer(MachineFacts& facts) {
  utsname system = {};
  if (::uname(&system) == 0) {
    facts.kernel = std::string(system.sysname) + " " + system.release;
  }
  const unsigned cores = std::thread::hardware_concurrency();
  if (cores > 0) facts.cores = static_cast<int>(cores);
  facts.cpu = ReadCpuFeatures();
  facts.huge_pages = HugePages();
}

void ReadFolder(const std::string& folder, MachineFacts& facts) {
  facts.folder = folder;
  struct statvfs disk = {};
  if (::statvfs(folder.c_str(), &disk) == 0) {
    facts.disk_bytes = uint64_t{disk.f_bavail} * disk.f_frsize;
  }
  facts.folder_is_writable = ::access(folder.c_str(), W_OK | X_OK) == 0;
}

}  // namespace

MachineFacts ReadMachineFacts(const std::string& folder) {
  MachineFacts facts;
  ReadComputer(facts);
  rlimit limit = {};
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    facts.open_files = limit.rlim_cur;
    facts.open_files_hard = limit.rlim_max;
  }
  facts.threads = ReadNumber(std::string(kCgroup) + "pids.max");
  if (::getrlimit(RLIMIT_NPROC, &limit) == 0) {
    facts.threads = Least(limit.rlim_cur, facts.threads);
  }
  facts.memory_bytes = Least(AvailableMemory(), AvailableInCgroup());
  facts.somaxconn = ReadNumber("/proc/sys/net/core/somaxconn");
  ReadFolder(folder, facts);
  timex question = {};  // modes = 0: reads and sets nothing
  const int answer = ::adjtimex(&question);
  if (answer >= 0) {
    facts.clock_is_synchronised =
        answer != TIME_ERROR && (question.status & STA_UNSYNC) == 0;
  }
  return facts;
}

}  // namespace capstan
