// How a job ends: the phases after the first, and what is said last.
#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <ratio>
#include <string>
#include <vector>

#include "launch/supervisor.h"

namespace capstan {
namespace {

// Nothing survives SIGKILL but what the kernel itself cannot end.
constexpr Duration kKillGrace = std::chrono::seconds(5);
// For a terminal that is stuck, after Ctrl-C.
constexpr Duration kFlushGrace = std::chrono::milliseconds(300);

double Seconds(Duration duration) {
  return std::chrono::duration<double>(duration).count();
}

bool IsEvaluator(const TaskProcess& process) {
  return process.id().role == Role::kEvaluator;
}

std::string NameOf(const TaskProcess& process) {
  return process.id().ToString();
}

std::string List(const std::vector<std::string>& names) {
  constexpr size_t kShown = 5;
  const size_t shown = std::min(names.size(), kShown);
  const auto end = names.begin() + static_cast<std::ptrdiff_t>(shown);
  std::string text = fmt::format("{}", fmt::join(names.begin(), end, ", "));
  if (shown < names.size()) {
    text += fmt::format(" and {} more", names.size() - shown);
  }
  return text;
}

}  // namespace

void Supervisor::OnDeadline() {
  switch (phase_) {
    case Phase::kRunning:
      return;
    case Phase::kEnding:
      if (const std::string others = NamesOfOthersLeft(); !others.empty()) {
        screen_.Say(fmt::format("{} still ran {} s after the chief; ending",
                                others, Seconds(options_.end_grace)));
      }
      return EvaluatorGone() ? EnterStopping() : EnterEvaluating();
    case Phase::kEvaluating:
      if (deadline_ < evaluate_until_) return OnOthersDeadline();
      screen_.Say(fmt::format("{} still ran {} s after the chief; ending",
                              NamesOfLeft(),
                              Seconds(options_.evaluator_grace)));
      return EnterStopping();
    case Phase::kStopping:
      screen_.Say(fmt::format("{} did not end within {} s; killing",
                              NamesOfLeft(), Seconds(options_.stop_grace)));
      return EnterKilling();
    case Phase::kKilling:
      screen_.Say(NamesOfLeft() + " cannot be killed; leaving");
      given_up_ = true;
  }
}

void Supervisor::OnOthersDeadline() {
  deadline_ = evaluate_until_;
  const std::string others = NamesOfOthersLeft();
  if (others.empty()) return;
  screen_.Say(fmt::format("{} did not end within {} s; killing", others,
                          Seconds(options_.stop_grace)));
  SignalOthers(SIGKILL);
}

void Supervisor::EnterEnding() {
  phase_ = Phase::kEnding;
  deadline_ = clock_.Now() + options_.end_grace;
  evaluate_until_ = clock_.Now() + options_.evaluator_grace;
  // Who waits to be started again has nothing left to do.
  for (Watched& watched : tasks_) watched.restart_when_gone = false;
}

void Supervisor::EnterEvaluating() {
  phase_ = Phase::kEvaluating;
  deadline_ = clock_.Now() + options_.stop_grace;
  screen_.Say(fmt::format(
      "the chief has ended; waits for evaluator/0 to evaluate the last "
      "checkpoints, for {} min at most; Ctrl-C ends it",
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
  return List(left);
}

std::string Supervisor::NamesOfOthersLeft() const {
  std::vector<std::string> left;
  for (const Watched& watched : tasks_) {
    const TaskProcess& process = watched.process;
    if (!process.gone() && !IsEvaluator(process)) {
      left.push_back(NameOf(process));
    }
  }
  return List(left);
}

void Supervisor::Report() {
  if (!start_error_.ok()) {
    screen_.Say(std::string(start_error_.message()));
    return;
  }
  if (first_failure_.empty()) return;
  screen_.Say("the first failure: " + first_failure_.front());
  for (size_t i = 1; i < first_failure_.size(); ++i) {
    screen_.SayDetail(first_failure_[i]);
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
