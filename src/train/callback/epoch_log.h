// A log with a line for each epoch, of Fits that may go on where they were cut
// off, or go back to a checkpoint: each epoch has one line all the same.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "train/callback/callback_state.h"

namespace capstan {

// The text of a log; empty if there is none. The folder is made. Throws.
std::string ReadLog(const std::string& path);

// Not thread-safe.
template <typename Line>
class EpochLog {
 public:
  using FindEpoch = std::function<std::optional<int>(const Line& line)>;

  // `epoch_of` is nullopt for what is no line of a log.
  explicit EpochLog(FindEpoch epoch_of) : epoch_of_(std::move(epoch_of)) {}

  // A Fit begins. `lines` are of others, and stay. Only SetState tells whether
  // it is a new one.
  void Begin(std::vector<Line> lines) {
    lines_ = std::move(lines);
    before_ = static_cast<std::int64_t>(lines_.size());
    first_.reset();
    known_ = true;
    resumed_ = false;
  }

  // Adds the line of `epoch`. If some of those that are there come again they
  // are dropped, and if they are not known, they are what `read()` returns.
  // Whether any were dropped or read.
  bool Add(int epoch, Line line,
           const std::function<std::vector<Line>()>& read) {
    const bool anew = resumed_;
    if (anew) {
      if (!known_) lines_ = read();
      DropFrom(epoch);
      known_ = true;
      resumed_ = false;
    }
    lines_.push_back(std::move(line));
    if (!first_) first_ = epoch;
    return anew;
  }

  const std::vector<Line>& lines() const { return lines_; }

  // As Callback's.
  std::string State() const {
    return EncodeState({static_cast<double>(before_), first_});
  }
  void SetState(const std::string& state) {
    const auto numbers = DecodeState(state, 2);
    // Those that this process has logged may not all have been written.
    known_ = known_ && first_;
    resumed_ = true;
    before_ = static_cast<std::int64_t>(numbers[0].value_or(0));
    first_.reset();
    if (numbers[1]) first_ = static_cast<int>(*numbers[1]);
  }

 private:
  void DropFrom(int epoch) {
    std::vector<Line> kept;
    std::optional<int> last;
    for (Line& line : lines_) {
      if (static_cast<std::int64_t>(kept.size()) < before_) {
        kept.push_back(std::move(line));
        continue;
      }
      const std::optional<int> at = epoch_of_(line);
      // Without a first one, what is there is of others.
      if (!first_ || !at || *at < *first_ || *at >= epoch) continue;
      // Each once.
      if (last && *at <= *last) continue;
      last = at;
      kept.push_back(std::move(line));
    }
    lines_ = std::move(kept);
  }

  const FindEpoch epoch_of_;
  std::int64_t before_ = 0;   // lines that are not of this Fit
  std::optional<int> first_;  // epoch that this Fit has a line of
  bool known_ = false;        // lines_ are those of the file
  bool resumed_ = false;      // and some of them may come again
  std::vector<Line> lines_;
};

}  // namespace capstan
