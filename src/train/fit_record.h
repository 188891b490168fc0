// Where a Trainer is, as text: what the servers and checkpoints keep of it, so
// that a Fit which was cut off goes on with the next batch.
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
  std::uint64_t call = 0;  // of Fit, from 1 on; 0: before the first
  bool done = false;       // that call has returned
  bool stopped = false;    // before its last epoch, between two epochs
  int epochs = 0;          // that it was asked for
  // Before the first: the values may be those of a checkpoint in part.
  bool restoring = false;
  int epoch = 0;
  std::int64_t batch = 0;  // the next of the epoch
  // Of the epoch, and what their numbers stand for (FitSteps): in the middle of
  // an epoch it can only go on with the same. Nothing in records of 0.1.
  std::optional<std::int64_t> batches_per_epoch = std::nullopt;
  std::string data = {};
  // The batch that the first step of the block is for
  // (coordinator/job_record.h).
  std::int64_t block_batch = 0;
  int steps_per_execution = 1;  // batches in a step of the block
  std::int64_t iterations = 0;
  // Drawn by its trainer, for Shuffles without one. 0: none was, as in 0.1.
  std::uint64_t shuffle_seed = 0;
  std::optional<double> learning_rate = std::nullopt;  // if it was set
  StepReport report = {};  // of the epoch so far, with the states of metrics
  History history = {};
  // Names and states, in their order.
  std::vector<std::pair<std::string, std::string>> callbacks = {};
  // Of the calls before, by their number.
  std::map<std::uint64_t, History> past = {};
};

// The servers get this several times a second, with those of all other models:
// so a record has a bounded size, whatever the numbers of epochs and of calls.
// Of all histories together it has the newest rows, as many as `history_room`
// bytes of the job's record hold; states of metrics unless they are larger than
// kMostStatesText; and states of callbacks up to kMostCallbackText, beyond
// which it throws kResourceExhausted, naming the largest.
inline constexpr size_t kMostHistoryText = 64 << 10;
inline constexpr size_t kMostStatesText = 256 << 10;
inline constexpr size_t kMostCallbackText = 64 << 10;
std::string EncodeFitRecord(const FitRecord& record,
                            size_t history_room = kMostHistoryText);
// The same for the job's record, which may do without the histories.
PartText FitRecordPart(const FitRecord& record);
// Throws kDataLoss if it is none, or if its numbers cannot be true together.
FitRecord DecodeFitRecord(std::string_view text);

}  // namespace capstan
