// A record of what the evaluator has done: a file with a line of JSON for each
// evaluated checkpoint. A restarted evaluator resumes from it.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>

#include "capstan/callback.h"
#include "train/evaluator/checkpoint_watch.h"

namespace capstan {

// Not thread-safe. Functions block, and throw on errors of the disk.
class EvaluationLog {
 public:
  // Reads an existing log. `monitor` and `mode` define which checkpoint is
  // best.
  EvaluationLog(std::string path, std::string monitor, MonitorMode mode);

  // Whether there is a line for `found`. A line without a save_id, from an
  // older version, stands for all checkpoints of its name.
  bool Has(const FoundCheckpoint& found) const {
    return keys_.contains(found.key()) || names_.contains(found.name);
  }

  // The best value so far, without those of best checkpoints that were lost
  // before they could be exported.
  std::optional<double> best() const { return best_; }
  // NaN is never the best, not even if there is no other value.
  bool IsBest(double value) const;

  // Adds a line, durably. `best_is_lost`: the checkpoint was the best, but was
  // removed before it could be exported, so the exported one is older.
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
  bool torn_line_ = false;  // the file ends with an incomplete line
};

}  // namespace capstan
