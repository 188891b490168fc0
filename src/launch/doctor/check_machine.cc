#include "launch/doctor/check_machine.h"

#include <fmt/format.h>

#include "capstan/version.h"

namespace capstan {
namespace {

// Slower than any machine that is not overloaded.
constexpr Duration kSlowRoundTrip = std::chrono::milliseconds(1);

Finding CheckPages(const std::string& setting) {
  if (setting != "never") {
    return {FindingLevel::kOk, fmt::format("huge pages: {}", setting), ""};
  }
  return {FindingLevel::kWarning,
          "huge pages: never, so that large tensors take up to four times as "
          "long to be filled first",
          "run, as root: echo madvise > "
          "/sys/kernel/mm/transparent_hugepage/enabled"};
}

}  // namespace

Findings CheckMachine(const MachineFacts& facts) {
  Findings findings = {
      {FindingLevel::kOk,
       facts.kernel.empty()
           ? fmt::format("version: capstan {}", Version())
           : fmt::format("version: capstan {}, {}", Version(), facts.kernel),
       ""}};
  if (facts.cores) {
    findings.push_back(
        {FindingLevel::kOk,
         fmt::format("CPU: {} core{}, {}", *facts.cores,
                     *facts.cores == 1 ? "" : "s", Describe(facts.cpu)),
         ""});
  }
  if (!facts.huge_pages.empty()) {
    findings.push_back(CheckPages(facts.huge_pages));
  }
  return findings;
}

Findings CheckLoopback(const LoopbackFacts& facts) {
  Findings findings;
  if (!facts.status.ok()) {
    findings.push_back(
        {FindingLevel::kProblem,
         fmt::format("loopback: no connection to 127.0.0.1: {}",
                     std::string(facts.status.message())),
         "see whether the interface lo is up (ip link), and what a firewall "
         "does to it"});
  } else {
    const double us =
        std::chrono::duration<double, std::micro>(facts.round_trip).count();
    const bool slow = facts.round_trip > kSlowRoundTrip;
    findings.push_back(
        {slow ? FindingLevel::kWarning : FindingLevel::kOk,
         fmt::format("loopback: a free port, and a byte there and back in "
                     "{:.0f} us",
                     us),
         slow ? "see what else runs here" : ""});
  }
  if (facts.host_status.ok()) {
    findings.push_back({FindingLevel::kOk,
                        fmt::format("host: {} can be looked up", facts.host),
                        ""});
  } else {
    findings.push_back(
        {FindingLevel::kWarning,
         fmt::format("host: {} cannot be looked up: {}", facts.host,
                     std::string(facts.host_status.message())),
         "tasks on other machines need its address: put the name into DNS or "
         "/etc/hosts, or use numbers"});
  }
  return findings;
}

}  // namespace capstan
