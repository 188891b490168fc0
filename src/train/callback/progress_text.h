// The lines that show the progress of a training. Pure functions; thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace capstan {

struct ProgressState {
  std::int64_t done = 0;    // batches
  std::int64_t before = 0;  // of these, those not covered by `seconds`
  std::optional<std::int64_t> total;
  double seconds = 0;
  std::uint64_t examples = 0;  // during `seconds`
  // Loss and metrics, in the order in which to show them.
  std::vector<std::pair<std::string, double>> values;
  int workers = 0;                         // ready ones; 0: not shown
  int all_workers = 0;                     // seen so far
  std::optional<std::uint64_t> staleness;  // 99th percentile over updates
};

// " 469/1875 [=======>......................] 14,632 examples/s ETA 3 s - loss:
// 0.4321 - 2/2 workers - staleness p99 3". To fit `width`, first the bar is
// shortened, then parts are dropped from the end.
std::string BarLine(const ProgressState& state, std::size_t width, bool color);

// The same line at the end of an epoch, with the time that the epoch took.
std::string DoneLine(const ProgressState& state, std::size_t width, bool color);

// The line of an evaluation: pieces of the data instead of batches, and no
// speed.
std::string PiecesLine(const ProgressState& state, std::size_t width,
                       bool color);

// "Epoch 2/10: 1875 steps in 4.1 s (2.2 ms/step, 14,632 examples/s) - loss:
// 0.4321": the line of an epoch if there is no terminal. "137 of 1875 steps" if
// the epoch was resumed.
std::string EpochLine(int epoch, int epochs, const ProgressState& state);

// How the time of an average step was spent, in ns.
struct TimeSplit {
  double data = 0;
  double pull = 0;
  double compute = 0;
  double push = 0;
};

// "step 41 ms = data 3 + pull 22 + compute 11 + push 5", and what to try if
// anything but the computation takes longest. Empty if nothing was measured.
std::string TimeLine(const TimeSplit& split);

// "0.4321", "12.35", "1.2346e-05": about four digits.
std::string NumberText(double value);
// "14,632".
std::string CountText(double value);
// "3.2 s", "12 min 5 s", "2 h 3 min".
std::string DurationText(double seconds);

}  // namespace capstan
