// The position of a Trainer as text. Servers and checkpoints keep it, so that
// an interrupted Fit resumes with the next batch.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "capstan/trainer.h"
#include "coordinator/job_record.h"

namespace capstan {

// A value.
struct FitRecord {
  std::uint64_t call = 0;  // of Fit, from 1; 0: before the first
  bool done = false;       // that call has returned
  bool stopped = false;    // early, between two epochs
  int epochs = 0;          // epochs requested
  // Before the first call: the values may be partly those of a checkpoint.
  bool restoring = false;
  int epoch = 0;
  std::int64_t batch = 0;  // next batch of the epoch
  // Batches in the epoch, and what their numbers stand for (FitSteps): in the
  // middle of an epoch, Fit can only resume with the same. Unset in records of
  // 0.1.
  std::optional<std::int64_t> batches_per_epoch = std::nullopt;
  std::string data = {};
  // The first batch of the block's first step (coordinator/job_record.h).
  std::int64_t block_batch = 0;
  int steps_per_execution = 1;  // batches in a step of the block
  std::int64_t iterations = 0;
  // Drawn by the trainer, for Shuffles without a seed. 0: none was drawn, as in
  // 0.1.
  std::uint64_t shuffle_seed = 0;
  std::optional<double> learning_rate = std::nullopt;  // if it was set
  StepReport report = {};  // of the epoch so far, with the states of metrics
  History history = {};
  // Names and states, in the order of the callbacks.
  std::vector<std::pair<std::string, std::string>> callbacks = {};
  // The histories of earlier calls, by number.
  std::map<std::uint64_t, History> past = {};
};

// The servers receive this several times per second, together with the records
// of all other models, so its size is bounded regardless of the numbers of
// epochs and calls. The text includes the newest rows of all histories that fit
// into `history_room` bytes of the job's record; the states of metrics unless
// they are larger than kMostStatesText; and the states of callbacks. Throws
// kResourceExhausted, naming the largest, if those exceed kMostCallbackText.
inline constexpr size_t kMostHistoryText = 64 << 10;
inline constexpr size_t kMostStatesText = 256 << 10;
inline constexpr size_t kMostCallbackText = 64 << 10;
std::string EncodeFitRecord(const FitRecord& record,
                            size_t history_room = kMostHistoryText);
// The same text for the job's record, with a spare version without the
// histories.
PartText FitRecordPart(const FitRecord& record);
// Throws kDataLoss if `text` is not a record or its numbers are inconsistent.
FitRecord DecodeFitRecord(std::string_view text);

}  // namespace capstan
