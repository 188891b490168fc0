#include "launch/local/supervisor.h"

#include <fmt/core.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <optional>
#include <utility>

#include "launch/system/find_program.h"
#include "launch/system/task_exit.h"

namespace capstan {
namespace {

// How often to check for processes that a task left behind and that are not
// reaped here.
constexpr Duration kLookAgain = std::chrono::milliseconds(20);

// A task that has run this long since it failed does not explain later
// failures.
constexpr Duration kRecovered = std::chrono::minutes(1);

}  // namespace

Supervisor::Supervisor(const SupervisorOptions& options, const Clock& clock,
                       Screen& screen, SignalFd& signals, LogPath log_path,
                       std::vector<TaskProcess> tasks)
    : options_(options),
      clock_(clock),
      screen_(screen),
      signals_(signals),
      log_path_(std::move(log_path)) {
  for (TaskProcess& task : tasks) {
    tasks_.push_back({std::move(task), RestartPolicy(options_.max_restarts)});
  }
}

int Supervisor::Run() {
  StartAll();
  while (!AllGone() && !given_up_) {
    screen_.Write();
    Wait();
    TakeSignals();
    ReadOutput();
    Reap();
    GoOn();
  }
  Report();
  Flush();
  return start_error_.ok() ? exit_code_ : CannotRunExitCode(start_error_);
}

void Supervisor::StartAll() {
  for (Watched& watched : tasks_) {
    Start(watched);
    if (!start_error_.ok()) return;
  }
}

void Supervisor::Start(Watched& watched) {
  start_error_ = watched.process.Start();
  watched.policy.OnStart(clock_.Now());
  if (!start_error_.ok()) EnterStopping();
}

void Supervisor::Wait() {
  polled_.clear();
  polled_.push_back({signals_.fd(), POLLIN, 0});
  // poll skips a descriptor of -1.
  polled_.push_back({screen_.waiting_fd(), POLLOUT, 0});
  bool lingers = false;
  MonotonicTime next = deadline_;
  for (const Watched& watched : tasks_) {
    const TaskProcess& process = watched.process;
    polled_.push_back({screen_.Full() ? -1 : process.output_fd(), POLLIN, 0});
    lingers |= !process.gone() && !process.running();
    if (watched.restart_when_gone && process.gone()) {
      next = std::min(next, watched.restart_at);
    }
  }
  Duration timeout = std::chrono::hours(1);
  if (next != kNever) timeout = next - clock_.Now();
  if (lingers) timeout = std::min(timeout, kLookAgain);
  Poll(std::max(timeout, Duration(0)));
}

void Supervisor::Poll(Duration timeout) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(timeout);
  const timespec limit = {seconds.count(), (timeout - seconds).count()};
  // Treat an error like a timeout: check everything again.
  if (ppoll(polled_.data(), polled_.size(), &limit, nullptr) < 0) {
    for (pollfd& entry : polled_) entry.revents = 0;
  }
}

void Supervisor::TakeSignals() {
  for (const int number : signals_.Take()) {
    if (number != SIGINT && number != SIGTERM && number != SIGHUP) continue;
    interrupted_ = true;
    if (phase_ < Phase::kStopping) {
      screen_.Say(
          fmt::format("SIG{}: stopping all tasks; press Ctrl-C {}to kill them",
                      sigabbrev_np(number), number == SIGINT ? "again " : ""));
      exit_code_ = 128 + number;
      stopped_by_ = number;
      EnterStopping();
    } else if (number == SIGINT && phase_ == Phase::kStopping) {
      screen_.Say("killing " + NamesOfLeft());
      EnterKilling();
    }
  }
}

void Supervisor::ReadOutput() {
  constexpr size_t kFirstTask = 2;
  for (size_t i = 0; i < tasks_.size(); ++i) {
    if (polled_[kFirstTask + i].revents == 0) continue;
    NoteLog(tasks_[i].process.ReadOutput());
  }
}

void Supervisor::Reap() {
  std::vector<std::pair<Watched*, int>> ended;
  int status = 0;
  pid_t pid;
  while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
    const auto found =
        std::find_if(tasks_.begin(), tasks_.end(), [pid](const Watched& it) {
          return it.process.running() && it.process.pid() == pid;
        });
    if (found != tasks_.end()) ended.emplace_back(&*found, status);
  }
  // The system does not say which task ended first. If the chief is among them,
  // it most likely ended because of the others.
  std::stable_partition(ended.begin(), ended.end(), [](const auto& it) {
    return it.first->process.id().role != Role::kChief;
  });
  for (const auto& [watched, how] : ended) OnExit(*watched, how);
  for (Watched& watched : tasks_) NoteLog(watched.process.UpdateGone());
}

void Supervisor::OnExit(Watched& watched, int status) {
  NoteLog(watched.process.OnExit(status));
  const Role role = watched.process.id().role;
  const bool counts = phase_ <= Phase::kReporting;
  const bool awaited =
      phase_ == Phase::kEnding ||
      (phase_ == Phase::kEvaluating && role == Role::kEvaluator);
  if (counts && status != 0) {
    OnFailure(watched);
  } else if (counts && role == Role::kChief) {
    exit_code_ = 0;
    EnterEnding();
  } else if (awaited && status != 0) {
    screen_.Say(watched.process.DescribeFailure() +
                " after the chief had exited");
  }
}

void Supervisor::OnFailure(Watched& watched) {
  const Role role = watched.process.id().role;
  const MonotonicTime now = clock_.Now();
  for (const Watched& other : tasks_) {
    const bool recovered =
        other.process.running() && other.policy.RunTime(now) >= kRecovered;
    if (recovered) failures_.Remove(other.process.id());
  }
  std::optional<Duration> delay;
  // When the job has ended, its tasks leave with 0: a restarted chief would
  // wait for them in vain, repeatedly, and its error would hide this one.
  const bool over =
      role == Role::kChief && options_.job_is_over && options_.job_is_over();
  if (phase_ == Phase::kRunning && !over) delay = watched.policy.OnFailure(now);
  Note(watched, !delay);
  if (delay) {
    Restart(watched, *delay);
  } else if (role == Role::kChief) {
    EndBy(watched);
  } else if (phase_ == Phase::kReporting) {
    screen_.Say(watched.process.DescribeFailure());
  } else if (CanGoOnWithout(role)) {
    GoOnWithout(watched);
  } else {
    EnterReporting(watched);
  }
}

void Supervisor::Note(const Watched& watched, bool last) {
  const TaskProcess& process = watched.process;
  const auto& lines = process.output().last_lines().lines();
  TaskFailure failure;
  failure.task = process.id();
  failure.what = process.DescribeFailure();
  if (const int restarts = watched.policy.restarts(); last && restarts > 0) {
    failure.what +=
        fmt::format(" after {} restart{}", restarts, restarts == 1 ? "" : "s");
  }
  failure.log = log_path_(process.id());
  failure.last_lines.assign(lines.begin(), lines.end());
  failures_.Add(std::move(failure));
}

void Supervisor::Restart(Watched& watched, Duration delay) {
  const std::string when =
      delay > Duration::zero()
          ? fmt::format(" in {} s",
                        std::chrono::duration<double>(delay).count())
          : "";
  screen_.Say(fmt::format("{}; restarting it{} ({} of {})",
                          watched.process.DescribeFailure(), when,
                          watched.policy.restarts(), options_.max_restarts));
  // Processes it left behind may hold its address.
  watched.process.Signal(SIGKILL);
  watched.restart_when_gone = true;
  watched.restart_at = clock_.Now() + delay;
}

bool Supervisor::CanGoOnWithout(Role role) const {
  switch (role) {
    case Role::kChief:
      return false;
    case Role::kWorker:
      return Count(role) > 0;
    case Role::kPs:
      return Count(role) > 0 && options_.go_on_without_servers;
    case Role::kEvaluator:
      return true;
  }
  return false;
}

void Supervisor::GoOnWithout(Watched& watched) {
  const Role role = watched.process.id().role;
  const int left = Count(role);
  const std::string with =
      role == Role::kEvaluator
          ? ""
          : fmt::format(", with {} {}{} left", left,
                        role == Role::kPs ? "server" : "worker",
                        left == 1 ? "" : "s");
  screen_.Say(fmt::format("{}; continuing without it{}; its log is {}",
                          watched.process.DescribeFailure(), with,
                          log_path_(watched.process.id())));
  // Processes it left behind have nobody to work for.
  watched.process.Signal(SIGKILL);
}

void Supervisor::EndBy(const Watched& watched) {
  failed_ = true;
  exit_code_ = ExitCodeOf(watched.process.exit_status());
  screen_.Say(watched.process.DescribeFailure() + "; stopping the job");
  EnterStopping();
}

int Supervisor::Count(Role role) const {
  return static_cast<int>(
      std::count_if(tasks_.begin(), tasks_.end(), [role](const Watched& it) {
        return it.process.id().role == role &&
               (it.process.running() || it.restart_when_gone);
      }));
}

void Supervisor::GoOn() {
  for (Watched& watched : tasks_) {
    if (!watched.restart_when_gone || !watched.process.gone() ||
        clock_.Now() < watched.restart_at) {
      continue;
    }
    watched.restart_when_gone = false;
    Start(watched);
    if (!start_error_.ok()) return;
  }
  if (AllGone()) return;
  if (clock_.Now() >= deadline_) OnDeadline();
  // Any others were already asked to end and have no reason to continue.
  if (phase_ == Phase::kEvaluating && EvaluatorGone()) EnterStopping();
}

bool Supervisor::AllGone() const {
  return std::all_of(tasks_.begin(), tasks_.end(), [](const Watched& it) {
    return it.process.gone() && !it.restart_when_gone;
  });
}

void Supervisor::NoteLog(const absl::Status& status) {
  if (status.ok() || log_failed_) return;
  log_failed_ = true;
  screen_.Say(fmt::format("{}; logs are incomplete from here on",
                          std::string(status.message())));
}

}  // namespace capstan
