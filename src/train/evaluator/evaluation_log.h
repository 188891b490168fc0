// What the evaluator has done: a file with a line of JSON for each checkpoint
// that was evaluated, which the one that comes after it goes on with.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>

#include "capstan/callback.h"
#include "train/evaluator/checkpoint_watch.h"

namespace capstan {

// Not thread-safe. Functions block, and throw what the disk does not give.
class EvaluationLog {
 public:
  // Reads what is there. `monitor` and `mode` say what is best.
  EvaluationLog(std::string path, std::string monitor, MonitorMode mode);

  // Whether there is a line of it. One without a save_id, as there were, stands
  // for all that have its name.
  bool Has(const FoundCheckpoint& found) const {
    return keys_.contains(found.key()) || names_.contains(found.name);
  }

  // The best value of those that were exported, or were not the best.
  std::optional<double> best() const { return best_; }
  // What is no number is never better, not even than none.
  bool IsBest(double value) const;

  // Adds a line, durably. `best_is_lost`: it was the best, but was removed
  // before it could be exported, so that what is exported is an older one.
  void Add(const FoundCheckpoint& found, std::int64_t iterations,
           const Logs& logs, bool best_is_lost);

 private:
  void Read();
  void ReadLine(const std::string& text);
  void Append(const std::string& line) const;

  const std::string path_;
  const std::string monitor_;
  const MonitorMode mode_;
  std::set<std::string> keys_;
  std::set<std::string> names_;
  std::optional<double> best_;
  bool torn_line_ = false;  // the file ends in the middle of one
};

}  // namespace capstan
