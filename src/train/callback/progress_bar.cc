#include <algorithm>
#include <optional>
#include <utility>

#include "capstan/error.h"
#include "capstan/trainer.h"
#include "train/callback/progress_text.h"
#include "train/callback/terminal.h"

namespace capstan {
namespace {

constexpr std::int64_t kBetweenLines = 100'000'000;    // 10 per second
constexpr std::int64_t kBetweenLooks = 1'000'000'000;  // at the cluster

// The 99th percentile of the staleness of the updates since `before`; counts
// are as in ClusterCoordinator::Staleness.
std::optional<std::uint64_t> Percentile99(
    const std::vector<std::uint64_t>& before,
    const std::vector<std::uint64_t>& now) {
  std::uint64_t total = 0;
  for (size_t i = 0; i < now.size(); ++i) total += now[i] - before[i];
  if (total == 0) return std::nullopt;
  std::uint64_t below = 0;
  for (size_t i = 0; i < now.size(); ++i) {
    below += now[i] - before[i];
    if (below * 100 >= total * 99) return (std::uint64_t{1} << i) - 1;
  }
  return std::nullopt;
}

// In the order of `names`, then their "val_" versions, then all others.
std::vector<std::pair<std::string, double>> InOrder(
    const Logs& logs, const std::vector<std::string>& names) {
  std::vector<std::pair<std::string, double>> values;
  Logs left = logs;
  for (const char* prefix : {"", "val_"}) {
    for (const std::string& name : names) {
      const auto found = left.find(prefix + name);
      if (found == left.end()) continue;
      values.emplace_back(*found);
      left.erase(found);
    }
  }
  values.insert(values.end(), left.begin(), left.end());
  return values;
}

}  // namespace

struct ProgressBar::State {
  enum class When { kAtBegin, kInBetween, kAtEnd };

  Terminal terminal;
  bool bar = false;  // otherwise a line per epoch
  bool training = false;
  std::int64_t begun = 0;
  // The start of this epoch, the time of its last trained batch, and the time
  // spent training in all epochs.
  std::int64_t epoch_begun = 0;
  std::int64_t last_batch = 0;
  std::int64_t trained_ns = 0;
  // What the epoch had when this process began it: not 0 if it was resumed.
  std::int64_t batches_before = 0;
  std::uint64_t examples_before = 0;
  std::int64_t last_line = 0;
  std::int64_t last_look = 0;
  std::int64_t batches = 0;
  int epochs = 0;
  ProgressState shown;
  std::vector<std::uint64_t> staleness_before;

  double SecondsSince(std::int64_t then) const {
    return static_cast<double>(terminal.now() - then) / 1e9;
  }
  // Reads the state of the cluster; kInBetween at most once per kBetweenLooks.
  void Look(ClusterCoordinator& coordinator, When when) {
    const std::int64_t now = terminal.now();
    if (when == When::kInBetween && now - last_look < kBetweenLooks) return;
    last_look = now;
    try {
      const CoordinatorStatus status = coordinator.Status();
      shown.workers = status.ready_workers;
      shown.all_workers = status.workers;
      const std::vector<std::uint64_t> counts = coordinator.Staleness();
      if (when == When::kAtBegin) staleness_before = counts;
      shown.staleness = Percentile99(staleness_before, counts);
    } catch (const Error&) {
      // For display only: errors surface elsewhere, with their reason.
    }
  }
  // Measures the progress of the epoch.
  void Measure(const TrainProgress& progress, const Logs& logs,
               const std::vector<std::string>& names) {
    shown.done = progress.batches;
    shown.before = batches_before;
    shown.total = progress.batches_per_epoch;
    shown.examples = progress.report.examples - examples_before;
    shown.seconds = static_cast<double>(last_batch - epoch_begun) / 1e9;
    shown.values = InOrder(logs, names);
  }
  // Overwrites the current line.
  void Redraw(const std::string& line) const {
    *terminal.out << '\r' << line << "\x1b[K" << std::flush;
  }
  bool TimeForALine(std::int64_t now) {
    if (now - last_line < kBetweenLines) return false;
    last_line = now;
    return true;
  }
};

ProgressBar::ProgressBar(Verbose verbose, TerminalOptions terminal)
    : verbose_(verbose), terminal_(std::move(terminal)) {}
ProgressBar::~ProgressBar() = default;
ProgressBar::ProgressBar(const ProgressBar& other)
    : Callback(other), verbose_(other.verbose_), terminal_(other.terminal_) {}
ProgressBar& ProgressBar::operator=(const ProgressBar& other) {
  if (this == &other) return *this;
  verbose_ = other.verbose_;
  terminal_ = other.terminal_;
  return *this;
}

ProgressBar::State& ProgressBar::Begin() {
  state_ = std::make_shared<State>();
  state_->terminal = ResolveTerminal(terminal_);
  state_->bar = verbose_ == Verbose::kAuto ? state_->terminal.is_terminal
                                           : verbose_ == Verbose::kProgressBar;
  state_->begun = state_->epoch_begun = state_->terminal.now();
  return *state_;
}

void ProgressBar::OnTrainBegin(Logs& /*logs*/) { Begin().training = true; }

void ProgressBar::OnEpochBegin(int epoch, Logs& /*logs*/) {
  State& state = *state_;
  state.epoch_begun = state.last_batch = state.terminal.now();
  state.batches_before = trainer().progress().batches;
  state.examples_before = trainer().progress().report.examples;
  state.last_line = 0;
  state.shown = {};
  state.Look(trainer().coordinator(), State::When::kAtBegin);
  if (state.bar) {
    *state.terminal.out << "Epoch " << epoch + 1 << '/' << params().epochs
                        << '\n'
                        << std::flush;
  }
}

void ProgressBar::OnTrainBatchEnd(int64_t /*batch*/, Logs& logs) {
  State& state = *state_;
  const std::int64_t now = state.terminal.now();
  state.trained_ns += now - state.last_batch;
  state.last_batch = now;
  if (!state.bar || !state.TimeForALine(now)) return;
  state.Look(trainer().coordinator(), State::When::kInBetween);
  state.Measure(trainer().progress(), logs, params().metrics);
  state.Redraw(
      BarLine(state.shown, state.terminal.width, state.terminal.color));
}

void ProgressBar::OnEpochEnd(int epoch, Logs& logs) {
  State& state = *state_;
  const TrainProgress& progress = trainer().progress();
  state.Look(trainer().coordinator(), State::When::kAtEnd);
  state.Measure(progress, logs, params().metrics);
  state.batches += progress.batches - state.batches_before;
  ++state.epochs;
  std::ostream& out = *state.terminal.out;
  if (state.bar) {
    state.Redraw(
        DoneLine(state.shown, state.terminal.width, state.terminal.color));
    out << '\n';
  } else {
    out << EpochLine(epoch, params().epochs, state.shown) << '\n';
  }
  const auto batches =
      static_cast<double>(std::max<std::int64_t>(1, progress.batches));
  const StepReport& report = progress.report;
  const std::string times =
      TimeLine({.data = static_cast<double>(report.data_ns) / batches,
                .pull = static_cast<double>(report.pull_ns) / batches,
                .compute = static_cast<double>(report.compute_ns) / batches,
                .push = static_cast<double>(report.push_ns) / batches});
  if (!times.empty()) out << "  " << times << '\n';
  out << std::flush;
}

void ProgressBar::OnTrainEnd(Logs& /*logs*/) {
  State& state = *state_;
  std::ostream& out = *state.terminal.out;
  out << "trained " << state.epochs
      << (state.epochs == 1 ? " epoch, " : " epochs, ") << state.batches
      << " steps in "
      << DurationText(static_cast<double>(state.trained_ns) / 1e9);
  if (!params().run_directory.empty()) {
    out << "; the run is in " << params().run_directory;
  }
  out << '\n' << std::flush;
  state_ = nullptr;
}

void ProgressBar::OnTestBegin(Logs& /*logs*/) {
  // Within Fit, an evaluation is shown in the line of the epoch.
  if (state_ == nullptr) Begin();
}

void ProgressBar::ShowPieces(int64_t piece, const Logs& logs) {
  State& state = *state_;
  if (state.training || !state.bar || !state.TimeForALine(state.terminal.now()))
    return;
  state.shown.done = piece + 1;
  state.shown.total = params().steps;
  state.shown.seconds = state.SecondsSince(state.begun);
  state.shown.values = InOrder(logs, params().metrics);
  state.Redraw(
      PiecesLine(state.shown, state.terminal.width, state.terminal.color));
}

void ProgressBar::EndPieces(const char* what, const Logs& logs) {
  State& state = *state_;
  if (state.training) return;
  std::string line =
      what + (" in " + DurationText(state.SecondsSince(state.begun)));
  for (const auto& [name, value] : InOrder(logs, params().metrics)) {
    line += " - " + name + ": " + NumberText(value);
  }
  if (state.bar) {
    state.Redraw(line);
    *state.terminal.out << '\n' << std::flush;
  } else {
    *state.terminal.out << line << '\n' << std::flush;
  }
  state_ = nullptr;
}

void ProgressBar::OnTestBatchEnd(int64_t batch, Logs& logs) {
  ShowPieces(batch, logs);
}

void ProgressBar::OnTestEnd(Logs& logs) { EndPieces("evaluated", logs); }

void ProgressBar::OnPredictBegin(Logs& /*logs*/) { Begin(); }

void ProgressBar::OnPredictBatchEnd(int64_t batch, Logs& logs) {
  ShowPieces(batch, logs);
}

void ProgressBar::OnPredictEnd(Logs& logs) { EndPieces("predicted", logs); }

}  // namespace capstan
