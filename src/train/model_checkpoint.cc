#include <utility>

#include "absl/strings/str_cat.h"
#include "capstan/error.h"
#include "capstan/trainer.h"
#include "train/checkpoint_path.h"
#include "train/monitor.h"

namespace capstan {

ModelCheckpoint::ModelCheckpoint(std::string filepath,
                                 ModelCheckpointOptions options)
    : filepath_(std::move(filepath)),
      options_(std::move(options)),
      best_(options_.initial_value_threshold) {
  if (options_.save_freq && *options_.save_freq < 1) {
    throw Error(ErrorCode::kInvalidArgument,
                absl::StrCat("ModelCheckpoint: save_freq must be at least 1, "
                             "not ",
                             *options_.save_freq));
  }
}
ModelCheckpoint::~ModelCheckpoint() = default;

void ModelCheckpoint::OnEpochBegin(int epoch, Logs& /*logs*/) {
  epoch_ = epoch;
  seen_ = -1;
}

void ModelCheckpoint::OnEpochEnd(int /*epoch*/, Logs& logs) {
  if (!options_.save_freq) Save(seen_, logs);
}

void ModelCheckpoint::OnTrainBatchEnd(int64_t batch, Logs& logs) {
  since_ += batch - seen_;
  seen_ = batch;
  if (!options_.save_freq || since_ < *options_.save_freq) return;
  since_ = 0;
  Save(batch, logs);
}

void ModelCheckpoint::Save(int64_t batch, const Logs& logs) {
  if (options_.save_best_only) {
    // Not measured in this epoch, as with validation_freq.
    if (best_ && !logs.contains(options_.monitor)) return;
    const double value = MonitoredValue(logs, options_.monitor);
    const MonitorMode mode = ResolveMode(options_.mode, options_.monitor);
    if (best_ && !IsBetter(mode, value, *best_, 0)) return;
    best_ = value;
  }
  const std::string path =
      CheckpointPath(filepath_, epoch_ + 1, batch + 1, logs);
  trainer().Save(path);
  last_path_ = path;
}

}  // namespace capstan
