// How fast does the coordinator hand out work, and what does it cost to lose a
// worker?
//
//   bench_dispatch --json FILE [--only speed,scaling,...] [--rounds 5]
//
// Unless noted, workers are processes that talk over TCP on one machine, with
// the coordinator in this one; figures are medians.
//   speed    closures_per_second: functions that do nothing, through 4 workers,
//            from the first Schedule to the end of Join;
//            closure_rtt_us: Schedule and Fetch, one at a time;
//            closure_rtt_ratio: that / the round trip of a bare socket with as
//            many bytes, timed right afterwards
//   scaling  scaling_4_to_64: closures/s with 64 workers / with 4; in both
//            cases the workers are in one process, each with its own threads
//            and connections
//   memory   queued_262144_mb: the memory in the coordinator of that many
//            queued closures and the handles of their results
//   loss     4 workers compute for 1 ms at a time, one is killed and restarted:
//            stall_others_ms, by how much the longest gap between two results
//            of another worker is longer after than before;
//            worker_back_ms, until the killed one delivers again
#include <string>

#include "base/status.h"
#include "bench_dispatch/experiments.h"
#include "bench_dispatch/job.h"
#include "harness/bare_socket.h"
#include "harness/bench_program.h"
#include "harness/report.h"

namespace capstan {
namespace {

absl::Status MeasureAll(const BenchProgram::Words& chosen, int rounds,
                        Report& report) {
  report.PrintHeader("dispatch", "Capstan");
  for (const std::string& name : chosen) {
    absl::Status status;
    if (name == "speed") status = MeasureSpeed(rounds, report);
    if (name == "scaling") status = MeasureScaling(rounds, report);
    if (name == "memory") status = MeasureMemory(report);
    if (name == "loss") status = MeasureLoss(rounds, report);
    CAPSTAN_RETURN_IF_ERROR(WithContext(status, name));
  }
  return absl::OkStatus();
}

int Main(int argc, char** argv) {
  using Words = BenchProgram::Words;
  BenchProgram program("bench_dispatch",
                       "How fast Capstan's coordinator hands out work",
                       {"speed", "scaling", "memory", "loss"}, 5);
  program.AddChild("serve-bare", {"address"},
                   [](const Words& words) { return ServeBare(words[0]); });
  program.AddChild("tasks", {"cluster", "roles"}, [](const Words& words) {
    return RunTasks(words[0], words[1]);
  });
  return program.Run(argc, argv, MeasureAll);
}

}  // namespace
}  // namespace capstan

int main(int argc, char** argv) { return capstan::Main(argc, argv); }
