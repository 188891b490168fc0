// How a job ends: the phases after the first, and the final messages.
#include <fmt/format.h>
#include <signal.h>
#include <string.h>

#include <algorithm>
#include <chrono>
#include <ratio>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/list_first.h"
#include "launch/local/supervisor.h"
#include "launch/system/task_exit.h"

namespace capstan {
namespace {

// Nothing survives SIGKILL except what the kernel itself cannot end.
constexpr Duration kKillGrace = std::chrono::seconds(5);
// For a terminal that is stuck, after Ctrl-C.
constexpr Duration kFlushGrace = std::chrono::milliseconds(300);

constexpr size_t kMostListed = 5;

double Seconds(Duration duration) {
  return std::chrono::duration<double>(duration).count();
}

bool IsEvaluator(const TaskProcess& process) {
  return process.id().role == Role::kEvaluator;
}

std::string NameOf(const TaskProcess& process) {
  return process.id().ToString();
}

// What a job has lost along with a task of that role.
std::string_view MissingName(Role role, bool last) {
  if (role == Role::kWorker) return "a worker";
  return last ? "a parameter server" : "its variables";
}

}  // namespace

void Supervisor::OnDeadline() {
  switch (phase_) {
    case Phase::kRunning:
      return;
    case Phase::kReporting:
      screen_.Say(
          fmt::format("chief/0 has not exited within {} s; stopping the job",
                      Seconds(options_.report_grace)));
      return EnterStopping();
    case Phase::kEnding:
      if (const std::string others = NamesOfOthersLeft(); !others.empty()) {
        screen_.Say(fmt::format(
            "{} still running {} s after the chief exited; stopping", others,
            Seconds(options_.end_grace)));
      }
      return EvaluatorGone() ? EnterStopping() : EnterEvaluating();
    case Phase::kEvaluating:
      if (deadline_ < evaluate_until_) return OnOthersDeadline();
      screen_.Say(
          fmt::format("{} still running {} s after the chief exited; stopping",
                      NamesOfLeft(), Seconds(options_.evaluator_grace)));
      return EnterStopping();
    case Phase::kStopping:
      screen_.Say(fmt::format("{} did not stop within {} s; killing",
                              NamesOfLeft(), Seconds(options_.stop_grace)));
      return EnterKilling();
    case Phase::kKilling:
      screen_.Say("cannot kill " + NamesOfLeft() + "; giving up");
      given_up_ = true;
  }
}

void Supervisor::OnOthersDeadline() {
  deadline_ = evaluate_until_;
  const std::string others = NamesOfOthersLeft();
  if (others.empty()) return;
  screen_.Say(fmt::format("{} did not stop within {} s; killing", others,
                          Seconds(options_.stop_grace)));
  SignalOthers(SIGKILL);
}

void Supervisor::EnterReporting(const Watched& watched) {
  const TaskProcess& lost = watched.process;
  const std::string what = fmt::format(
      "{}; the job cannot continue without {}", lost.DescribeFailure(),
      MissingName(lost.id().role, Count(lost.id().role) == 0));
  phase_ = Phase::kReporting;
  deadline_ = clock_.Now() + options_.report_grace;
  failed_ = true;
  exit_code_ = ExitCodeOf(lost.exit_status());
  for (Watched& other : tasks_) {
    const bool was_to_restart = std::exchange(other.restart_when_gone, false);
    if (other.process.id().role != Role::kChief || !was_to_restart) continue;
    // It has already reported.
    exit_code_ = ExitCodeOf(other.process.exit_status());
    screen_.Say(what + "; stopping it");
    return EnterStopping();
  }
  screen_.Say(
      fmt::format("{}; waiting up to {} s for chief/0 to report that (press "
                  "Ctrl-C to stop the job now)",
                  what, Seconds(options_.report_grace)));
}

void Supervisor::EnterEnding() {
  phase_ = Phase::kEnding;
  failed_ = false;
  deadline_ = clock_.Now() + options_.end_grace;
  evaluate_until_ = clock_.Now() + options_.evaluator_grace;
  // Tasks waiting to be restarted have nothing left to do.
  for (Watched& watched : tasks_) watched.restart_when_gone = false;
}

void Supervisor::EnterEvaluating() {
  phase_ = Phase::kEvaluating;
  deadline_ = clock_.Now() + options_.stop_grace;
  screen_.Say(fmt::format(
      "the chief has finished; waiting up to {} min for evaluator/0 to "
      "evaluate the last checkpoints (press Ctrl-C to stop it)",
      std::chrono::duration<double, std::ratio<60>>(options_.evaluator_grace)
          .count()));
  SignalOthers(SIGTERM);
}

void Supervisor::EnterStopping() {
  phase_ = Phase::kStopping;
  deadline_ = clock_.Now() + options_.stop_grace;
  SignalAll(SIGTERM);
}

void Supervisor::EnterKilling() {
  phase_ = Phase::kKilling;
  deadline_ = clock_.Now() + kKillGrace;
  SignalAll(SIGKILL);
}

void Supervisor::SignalAll(int signal_number) {
  for (Watched& watched : tasks_) {
    watched.restart_when_gone = false;
    watched.process.Signal(signal_number);
  }
}

void Supervisor::SignalOthers(int signal_number) {
  for (Watched& watched : tasks_) {
    if (!IsEvaluator(watched.process)) watched.process.Signal(signal_number);
  }
}

bool Supervisor::EvaluatorGone() const {
  return std::all_of(tasks_.begin(), tasks_.end(), [](const Watched& it) {
    return !IsEvaluator(it.process) || it.process.gone();
  });
}

std::string Supervisor::NamesOfLeft() const {
  std::vector<std::string> left;
  for (const Watched& watched : tasks_) {
    if (!watched.process.gone()) left.push_back(NameOf(watched.process));
  }
  return ListFirst(left, kMostListed);
}

std::string Supervisor::NamesOfOthersLeft() const {
  std::vector<std::string> left;
  for (const Watched& watched : tasks_) {
    const TaskProcess& process = watched.process;
    if (!process.gone() && !IsEvaluator(process)) {
      left.push_back(NameOf(process));
    }
  }
  return ListFirst(left, kMostListed);
}

std::string Supervisor::reason() const {
  if (!start_error_.ok()) return std::string(start_error_.message());
  if (stopped_by_ != 0) {
    return fmt::format("stopped by SIG{}", sigabbrev_np(stopped_by_));
  }
  return failed_ ? failures_.first() : "";
}

void Supervisor::Report() {
  if (!start_error_.ok()) {
    screen_.Say(std::string(start_error_.message()));
    return;
  }
  if (!failed_) return;
  for (const FailureText& text : failures_.Report()) {
    screen_.Say(text.headline);
    for (const std::string& line : text.details) screen_.SayDetail(line);
  }
}

void Supervisor::Flush() {
  const MonotonicTime until =
      interrupted_ ? clock_.Now() + kFlushGrace : kNever;
  while (true) {
    screen_.Write();
    if (screen_.waiting_fd() < 0 || clock_.Now() >= until) return;
    polled_ = {{signals_.fd(), POLLIN, 0}, {screen_.waiting_fd(), POLLOUT, 0}};
    Poll(interrupted_ ? kFlushGrace : std::chrono::hours(1));
    for (const int number : signals_.Take()) {
      if (number == SIGINT || number == SIGTERM || number == SIGHUP) return;
    }
  }
}

}  // namespace capstan
