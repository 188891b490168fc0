// How a job ends: the phases after the first, and what is said last.
#include <fmt/core.h>
#include <signal.h>

#include <chrono>
#include <string>

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

}  // namespace

void Supervisor::OnDeadline() {
  switch (phase_) {
    case Phase::kRunning:
      return;
    case Phase::kEnding:
      screen_.Say(fmt::format("{} still ran {} s after the chief; ending",
                              NamesOfLeft(), Seconds(options_.end_grace)));
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

void Supervisor::EnterEnding() {
  phase_ = Phase::kEnding;
  deadline_ = clock_.Now() + options_.end_grace;
  // Who waits to be started again has nothing left to do.
  for (Watched& watched : tasks_) watched.restart_when_gone = false;
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

std::string Supervisor::NamesOfLeft() const {
  constexpr int kShown = 5;
  std::string names;
  int left = 0;
  for (const Watched& watched : tasks_) {
    if (watched.process.gone()) continue;
    if (++left > kShown) continue;
    if (!names.empty()) names += ", ";
    names += watched.process.id().ToString();
  }
  return left > kShown ? fmt::format("{} and {} more", names, left - kShown)
                       : names;
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
