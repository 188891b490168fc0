#include "harness/report.h"

#include <fmt/chrono.h>
#include <fmt/core.h>
#include <sys/utsname.h>

#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <memory>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace capstan {
namespace {

std::string CpuModel() {
  std::ifstream file("/proc/cpuinfo");
  std::string line;
  while (std::getline(file, line)) {
    if (!absl::StartsWith(line, "model name")) continue;
    const size_t colon = line.find(": ");
    if (colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown";
}

std::string Kernel() {
  utsname name;
  if (uname(&name) != 0) return "unknown";
  return absl::StrCat(name.sysname, " ", name.release);
}

std::string Compiler() {
#ifdef __clang__
  return __VERSION__;
#else
  return absl::StrCat("GCC ", __VERSION__);
#endif
}

double LoadAverage() {
  double load = 0;
  return getloadavg(&load, 1) == 1 ? load : 0;
}

// The checked-out commit, with "-dirty" if the tree differs from it.
std::string Commit() {
  const std::string command =
      "git -C '" CAPSTAN_SOURCE_DIR
      "' describe --always --dirty --abbrev=12 2>/dev/null";
  std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"),
                                             pclose);
  char line[128] = {};
  if (pipe == nullptr || fgets(line, sizeof(line), pipe.get()) == nullptr) {
    return "unknown";
  }
  std::string commit = line;
  while (!commit.empty() && commit.back() == '\n') commit.pop_back();
  return commit;
}

double Rounded(double value) {
  if (value == 0 || !std::isfinite(value)) return value;
  const double scale =
      std::pow(10, 3 - std::floor(std::log10(std::fabs(value))));
  return std::round(value * scale) / scale;
}

std::string Figure(double value) {
  if (value >= 1000) return fmt::format("{:.0f}", value);
  return fmt::format("{:.{}f}", value, value >= 100 ? 0 : value >= 10 ? 1 : 2);
}

}  // namespace

Report::Report(const std::string& command, int rounds) {
  json_["machine"] = {{"cpu", CpuModel()},
                      {"cores", std::thread::hardware_concurrency()},
                      {"kernel", Kernel()}};
  json_["compiler"] = Compiler();
  json_["date"] =
      fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
  json_["commit"] = Commit();
  json_["command"] = command;
  json_["rounds"] = rounds;
  json_["load_before"] = LoadAverage();
}

void Report::SetText(const std::string& key, const std::string& value) {
  json_[key] = value;
}

void Report::Set(const std::string& key, double value) {
  json_[key] = Rounded(value);
}

void Report::PrintHeader(const std::string& title, const std::string& ours) {
  fmt::print("{:<34}{:>13}{:>13}{:>9}\n", title, ours, "bare", "ratio");
}

void Report::PrintRow(const std::string& name, const std::string& unit,
                      double ours, double bare, double ratio) {
  fmt::print("  {:<32}{:>8} {:<4}{:>8} {:<4}{:>9.2f}\n", name, Figure(ours),
             unit, Figure(bare), unit, ratio);
}

void Report::PrintRow(const std::string& name, const std::string& unit,
                      double ours) {
  fmt::print("  {:<32}{:>8} {:<4}\n", name, Figure(ours), unit);
}

absl::Status Report::Write(const std::string& path) const {
  std::ofstream file(path);
  file << json_.dump(2) << '\n';
  file.close();
  if (!file) return absl::ErrnoToStatus(errno, absl::StrCat("write ", path));
  return absl::OkStatus();
}

}  // namespace capstan
