// How fast does the coordinator hand out work, and what does it cost to lose a
// worker?
//
//   bench_dispatch --json FILE [--only speed,scaling,...] [--rounds 5]
//
// Workers are processes that talk over TCP on one machine, where not said
// otherwise, with a coordinator in this one; figures are medians.
//   speed    closures_per_second: functions that do nothing, through 4 workers,
//            from the first Schedule to the end of Join;
//            closure_rtt_us: Schedule and Fetch of one at a time;
//            closure_rtt_ratio: that / the round trip of a bare socket with as
//            many bytes, timed right after it
//   scaling  scaling_4_to_64: closures/s with 64 workers / with 4; the workers
//            of either are in one process, each with threads and connections of
//            its own
//   memory   queued_262144_mb: what as many queued closures, and the handles of
//            their results, take in the coordinator
//   loss     4 workers compute for 1 ms at a time, one is killed and started
//            again: stall_others_ms, by how much the longest gap between two
//            results of another worker is longer after than before;
//            worker_back_ms, until the killed one delivers again
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "base/status.h"
#include "bench_dispatch/experiments.h"
#include "bench_dispatch/job.h"
#include "harness/bare_socket.h"
#include "harness/report.h"

namespace capstan {
namespace {

absl::Status RunAll(const std::vector<std::string>& only, int rounds,
                    const std::string& command, const std::string& json) {
  Report report(command, rounds);
  // A file that cannot be written is found out now, not in the end.
  CAPSTAN_RETURN_IF_ERROR(report.Write(json));
  report.PrintHeader("dispatch", "Capstan");
  for (const std::string& name : only) {
    absl::Status status;
    if (name == "speed") status = MeasureSpeed(rounds, report);
    if (name == "scaling") status = MeasureScaling(rounds, report);
    if (name == "memory") status = MeasureMemory(report);
    if (name == "loss") status = MeasureLoss(rounds, report);
    CAPSTAN_RETURN_IF_ERROR(WithContext(status, name));
  }
  return report.Write(json);
}

int Main(int argc, char** argv) {
  CLI::App app("How fast Capstan's coordinator hands out work");
  std::string json;
  const std::vector<std::string> all = {"speed", "scaling", "memory", "loss"};
  std::vector<std::string> only = all;
  int rounds = 5;
  app.add_option("--json", json, "where to write the figures");
  app.add_option("--only", only, "which experiments, separated by commas")
      ->delimiter(',')
      ->check(CLI::IsMember(all));
  app.add_option("--rounds", rounds, "how often; figures are medians")
      ->check(CLI::Range(1, 1000));
  // What the children are told. A group without a name is not in --help.
  std::string address;
  std::string cluster;
  std::string roles;
  auto* serve_bare = app.add_subcommand("serve-bare")->group("");
  serve_bare->add_option("address", address)->required();
  auto* tasks = app.add_subcommand("tasks")->group("");
  tasks->add_option("cluster", cluster)->required();
  tasks->add_option("roles", roles)->required();
  CLI11_PARSE(app, argc, argv);

  absl::Status status;
  if (serve_bare->parsed()) {
    status = ServeBare(address);
  } else if (tasks->parsed()) {
    status = RunTasks(cluster, roles);
  } else if (json.empty()) {
    status = absl::InvalidArgumentError("--json FILE is required");
  } else {
    const std::vector<std::string> words(argv, argv + argc);
    status =
        RunAll(only, rounds, fmt::format("{}", fmt::join(words, " ")), json);
  }
  if (status.ok()) return 0;
  fmt::print(stderr, "bench_dispatch: {}\n", Describe(status));
  return 1;
}

}  // namespace
}  // namespace capstan

int main(int argc, char** argv) { return capstan::Main(argc, argv); }
