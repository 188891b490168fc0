#include "launch/local/run_local_job.h"

#include <fmt/core.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <filesystem>
#include <optional>
#include <utility>
#include <vector>

#include "base/async/real_clock.h"
#include "base/file/open_files.h"
#include "base/random.h"
#include "base/status.h"
#include "launch/local/held_ports.h"
#include "launch/local/run_folder.h"
#include "launch/local/run_result.h"
#include "launch/local/screen.h"
#include "launch/local/socket_folder.h"
#include "launch/local/task_output.h"
#include "launch/local/task_process.h"
#include "launch/system/find_program.h"
#include "launch/system/signal_fd.h"

namespace capstan {
namespace {

std::string NewJobId() {
  Random random = Random::FromOs();
  const uint64_t high = random.NextU64();
  return fmt::format("{:016x}{:016x}", high, random.NextU64());
}

absl::StatusOr<SignalFd> TakeSignals() {
  std::vector<int> signals = {SIGCHLD, SIGINT, SIGTERM, SIGPIPE, SIGXFSZ};
  // A job started by nohup outlives its terminal.
  struct sigaction hangup;
  if (sigaction(SIGHUP, nullptr, &hangup) == 0 &&
      hangup.sa_handler != SIG_IGN) {
    signals.push_back(SIGHUP);
  }
  return SignalFd::Open(signals);
}

// Where the tasks listen, and what holds those places while this lives.
struct Places {
  std::vector<std::string> addresses;
  std::optional<HeldPorts> ports;
  std::optional<SocketFolder> sockets;
};

absl::StatusOr<Places> FindPlaces(const RunLocalJobOptions& options) {
  Places places;
  const std::vector<TaskId> tasks = TasksOf(options.job);
  if (options.tcp) {
    absl::StatusOr<HeldPorts> ports =
        HeldPorts::Take(static_cast<int>(tasks.size()));
    CAPSTAN_RETURN_IF_ERROR(ports.status());
    for (const int port : ports->ports()) {
      places.addresses.push_back(fmt::format("127.0.0.1:{}", port));
    }
    places.ports = *std::move(ports);
    return places;
  }
  absl::StatusOr<SocketFolder> sockets =
      SocketFolder::Create(options.socket_parent);
  CAPSTAN_RETURN_IF_ERROR(sockets.status());
  for (const TaskId& task : tasks) {
    places.addresses.push_back(sockets->AddressOf(task));
  }
  places.sockets.emplace(*std::move(sockets));
  return places;
}

absl::StatusOr<std::vector<TaskProcess>> MakeProcesses(
    std::vector<LocalTask> tasks, RunFolder& folder, Screen& screen) {
  std::vector<TaskProcess> processes;
  for (LocalTask& task : tasks) {
    auto log = folder.CreateLog(task.id);
    CAPSTAN_RETURN_IF_ERROR(log.status());
    TaskOutput output(task.id, *std::move(log), screen);
    processes.emplace_back(std::move(task), std::move(output));
  }
  return processes;
}

}  // namespace

absl::StatusOr<int> RunLocalJob(RunLocalJobOptions options) {
  // Each task needs descriptors for its log and the ends of pipes.
  RaiseOpenFileLimit();
  const RealClock clock;
  Screen screen(options.output, options.messages);
  absl::StatusOr<std::string> program =
      FindProgram(options.job.program, options.search_path);
  if (!program.ok()) {
    screen.Say(std::string(program.status().message()));
    screen.Write();
    return CannotRunExitCode(program.status());
  }
  options.job.program = *std::move(program);
  options.job.job_id = NewJobId();

  const absl::StatusOr<Places> places = FindPlaces(options);
  CAPSTAN_RETURN_IF_ERROR(places.status());
  absl::StatusOr<RunFolder> folder =
      RunFolder::Create(options.folder, clock.WallNow(), getpid());
  CAPSTAN_RETURN_IF_ERROR(folder.status());
  // Absolute, because the program may change its working directory.
  const auto parent = std::filesystem::absolute(options.folder);
  options.job.over_file = (parent / folder->OverPath()).string();
  options.supervisor.job_is_over = [&folder] { return folder->IsOver(); };
  absl::StatusOr<LocalJob> job = PlanLocalJob(options.job, places->addresses);
  CAPSTAN_RETURN_IF_ERROR(job.status());
  CAPSTAN_RETURN_IF_ERROR(folder->WriteCluster(job->spec, options.job.job_id));
  absl::StatusOr<std::vector<TaskProcess>> processes =
      MakeProcesses(std::move(job->tasks), *folder, screen);
  CAPSTAN_RETURN_IF_ERROR(processes.status());
  absl::StatusOr<SignalFd> signals = TakeSignals();
  CAPSTAN_RETURN_IF_ERROR(signals.status());

  // Processes that a task leaves behind become our children, so we can wait for
  // them.
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  screen.Say(
      fmt::format("{}; logs in {}/logs", job->spec.ToString(), folder->path()));
  Supervisor supervisor(
      options.supervisor, clock, screen, *signals,
      [&folder](TaskId task) { return folder->LogPath(task); },
      *std::move(processes));
  const int code = supervisor.Run();
  const absl::Status kept = folder->WriteResult(
      {code, EndText(clock.WallNow()), supervisor.reason()});
  if (!kept.ok()) {
    screen.Say("cannot write the result: " + std::string(kept.message()));
    screen.Write();
  }
  return code;
}

}  // namespace capstan
