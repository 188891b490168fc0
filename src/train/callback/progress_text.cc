#include "train/callback/progress_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace capstan {
namespace {

constexpr std::size_t kBarWidth = 30;
constexpr std::size_t kMinBarWidth = 8;
constexpr char kGreen[] = "\x1b[32m";
constexpr char kPlain[] = "\x1b[0m";

// "[=======>......]", or what can be shown without a total.
std::string Bar(const ProgressState& state, std::size_t width, bool color) {
  const std::int64_t total = *state.total;
  const double part = total <= 0 ? 1
                                 : std::clamp(static_cast<double>(state.done) /
                                                  static_cast<double>(total),
                                              0.0, 1.0);
  const auto filled =
      static_cast<std::size_t>(part * static_cast<double>(width));
  std::string done(filled, '=');
  if (filled > 0 && filled < width) done.back() = '>';
  const std::string left(width - filled, '.');
  if (!color) return "[" + done + left + "]";
  return fmt::format("[{}{}{}{}]", kGreen, done, kPlain, left);
}

std::string Counts(const ProgressState& state) {
  if (!state.total) return fmt::format("{}/?", state.done);
  const std::string total = std::to_string(*state.total);
  return fmt::format("{:>{}}/{}", state.done, total.size(), total);
}

double PerSecond(double count, double seconds) {
  return seconds > 0 ? count / seconds : 0;
}

double SecondsPerStep(const ProgressState& state) {
  return state.seconds / static_cast<double>(std::max<std::int64_t>(
                             1, state.done - state.before));
}

std::vector<std::string> Tail(const ProgressState& state) {
  std::vector<std::string> tail;
  for (const auto& [name, value] : state.values) {
    tail.push_back(fmt::format("{}: {}", name, NumberText(value)));
  }
  if (state.workers > 0 || state.all_workers > 0) {
    tail.push_back(fmt::format("{}/{} workers", state.workers,
                               std::max(state.workers, state.all_workers)));
  }
  if (state.staleness) {
    tail.push_back(fmt::format("staleness p99 {}", *state.staleness));
  }
  return tail;
}

// The parts that fit; shortens the bar if that helps.
std::string Fit(const ProgressState& state, const std::string& speed,
                std::size_t width, bool color) {
  const std::string head = Counts(state);
  std::vector<std::string> tail = Tail(state);
  const std::size_t bar_edges = state.total ? 3 : 0;  // brackets and a space
  const auto length = [&](std::size_t bar) {
    std::size_t sum = head.size() + 1 + speed.size();
    if (state.total) sum += bar + bar_edges;
    for (const std::string& item : tail) sum += 3 + item.size();
    return sum;
  };
  std::size_t bar = kBarWidth;
  while (bar > kMinBarWidth && length(bar) > width) --bar;
  while (!tail.empty() && length(bar) > width) tail.pop_back();
  while (bar < kBarWidth && length(bar + 1) <= width) ++bar;
  std::string line = head;
  if (state.total && length(bar) <= width) {
    line += " " + Bar(state, bar, color);
  }
  line += " " + speed;
  for (const std::string& item : tail) line += " - " + item;
  if (line.size() > width && !color) line.resize(width);
  return line;
}

}  // namespace

std::string NumberText(double value) {
  const double size = std::abs(value);
  if (size != 0 && (size < 1e-3 || size >= 1e5)) {
    return fmt::format("{:.4e}", value);
  }
  return fmt::format("{:.4f}", value);
}

std::string CountText(double value) {
  std::string digits = fmt::format("{:.0f}", value);
  for (std::size_t i = digits.size(); i > 3;) {
    i -= 3;
    digits.insert(i, ",");
  }
  return digits;
}

std::string DurationText(double seconds) {
  if (seconds < 0.00995) return fmt::format("{:.1f} ms", seconds * 1e3);
  if (seconds < 0.9995) return fmt::format("{:.0f} ms", seconds * 1e3);
  if (seconds < 9.95) return fmt::format("{:.1f} s", seconds);
  const auto whole = static_cast<std::int64_t>(std::llround(seconds));
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} min {} s", whole / 60, whole % 60);
  return fmt::format("{} h {} min", whole / 3600, whole % 3600 / 60);
}

std::string BarLine(const ProgressState& state, std::size_t width, bool color) {
  std::string speed = fmt::format(
      "{} examples/s",
      CountText(PerSecond(static_cast<double>(state.examples), state.seconds)));
  if (state.total && state.done > state.before) {
    const double left =
        SecondsPerStep(state) * static_cast<double>(*state.total - state.done);
    speed += " ETA " + DurationText(left);
  }
  return Fit(state, speed, width, color);
}

std::string PiecesLine(const ProgressState& state, std::size_t width,
                       bool color) {
  return Fit(state, DurationText(state.seconds), width, color);
}

std::string DoneLine(const ProgressState& state, std::size_t width,
                     bool color) {
  return Fit(
      state,
      fmt::format("{} {}/step {} examples/s", DurationText(state.seconds),
                  DurationText(SecondsPerStep(state)),
                  CountText(PerSecond(static_cast<double>(state.examples),
                                      state.seconds))),
      width, color);
}

std::string EpochLine(int epoch, int epochs, const ProgressState& state) {
  std::string line = fmt::format(
      "Epoch {}/{}: {}{} steps in {} ({}/step, {} examples/s)", epoch + 1,
      epochs, state.done - state.before,
      state.before > 0 ? fmt::format(" of {}", state.done) : "",
      DurationText(state.seconds), DurationText(SecondsPerStep(state)),
      CountText(PerSecond(static_cast<double>(state.examples), state.seconds)));
  for (const std::string& item : Tail(state)) line += " - " + item;
  return line;
}

std::string TimeLine(const TimeSplit& split) {
  const double total = split.data + split.pull + split.compute + split.push;
  if (total <= 0) return "";
  // The longer the step, the fewer digits.
  const double step = total / 1e6;
  const int digits = step >= 10 ? 0 : step >= 1 ? 1 : 2;
  std::string line = fmt::format(
      "step {:.{}f} ms = data {:.{}f} + pull {:.{}f} + compute {:.{}f} + push "
      "{:.{}f}",
      step, digits, split.data / 1e6, digits, split.pull / 1e6, digits,
      split.compute / 1e6, digits, split.push / 1e6, digits);
  const double most =
      std::max({split.data, split.pull, split.compute, split.push});
  if (most == split.compute) return line;
  if (most == split.data) {
    return line +
           "; waits for data: try .Prefetch(2), Map with more threads, or "
           ".Cache()";
  }
  if (most == split.pull) {
    return line +
           "; waits for values: try prefetch = true, larger batches, or more "
           "servers";
  }
  return line + "; waits for updates: try larger batches, or more servers";
}

}  // namespace capstan
