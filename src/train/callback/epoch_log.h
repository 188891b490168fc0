// A log with one line for each epoch, even if a Fit was interrupted and resumed
// or went back to a checkpoint.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "train/callback/callback_state.h"

namespace capstan {

// The text of a log; empty if the file does not exist. Creates the folder.
// Throws on errors.
std::string ReadLog(const std::string& path);

// Not thread-safe.
template <typename Line>
class EpochLog {
 public:
  using FindEpoch = std::function<std::optional<int>(const Line& line)>;

  // `epoch_of` must return nullopt for anything that is not a line of a log.
  explicit EpochLog(FindEpoch epoch_of) : epoch_of_(std::move(epoch_of)) {}

  // Call when a Fit begins. `lines` are from other Fits and are kept. Whether
  // this Fit is a new one is known only if SetState follows.
  void Begin(std::vector<Line> lines) {
    lines_ = std::move(lines);
    before_ = static_cast<std::int64_t>(lines_.size());
    first_.reset();
    known_ = true;
    resumed_ = false;
  }

  // Adds the line of `epoch`. After a resume, first drops the lines of epochs
  // that are repeated; if the lines of the file are not known, they are those
  // that `read()` returns. Returns whether this was after a resume, so that the
  // whole file must be written again.
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

  // As in Callback.
  std::string State() const {
    return EncodeState({static_cast<double>(before_), first_});
  }
  void SetState(const std::string& state) {
    const auto numbers = DecodeState(state, 2);
    // The file may lack some of the lines that this process has logged.
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
      // Without first_, this Fit has no lines, so these are not its own.
      if (!first_ || !at || *at < *first_ || *at >= epoch) continue;
      // Keep each epoch once.
      if (last && *at <= *last) continue;
      last = at;
      kept.push_back(std::move(line));
    }
    lines_ = std::move(kept);
  }

  const FindEpoch epoch_of_;
  std::int64_t before_ = 0;   // lines that are not from this Fit
  std::optional<int> first_;  // first epoch that this Fit logged
  bool known_ = false;        // lines_ are those of the file
  bool resumed_ = false;      // some of them may be repeated
  std::vector<Line> lines_;
};

}  // namespace capstan
