#include <iostream>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "capstan/error.h"
#include "capstan/trainer.h"
#include "train/callback_state.h"
#include "train/checkpoint_path.h"
#include "train/monitor.h"

namespace capstan {
namespace {

// Whether the path is that of a file of values; else of a directory.
bool NamesFile(const std::string& path) {
  return absl::EndsWith(path, ".safetensors") || absl::StrContains(path, "{");
}

}  // namespace

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
  if (options_.save_every.count() < 0 || options_.max_to_keep < 0) {
    throw Error(ErrorCode::kInvalidArgument,
                "ModelCheckpoint: save_every and max_to_keep must not be "
                "negative");
  }
}
ModelCheckpoint::~ModelCheckpoint() = default;

void ModelCheckpoint::OnTrainBegin(Logs& /*logs*/) {
  saved_ = std::chrono::steady_clock::now();
}

void ModelCheckpoint::OnTrainEnd(Logs& /*logs*/) {
  ReportError();
  manager_ = nullptr;
}

void ModelCheckpoint::OnEpochBegin(int epoch, Logs& /*logs*/) {
  epoch_ = epoch;
  seen_ = -1;
}

void ModelCheckpoint::OnEpochEnd(int /*epoch*/, Logs& logs) {
  if (!options_.save_freq && options_.save_every.count() == 0) {
    Save(seen_, logs);
  }
}

void ModelCheckpoint::OnTrainBatchEnd(int64_t batch, Logs& logs) {
  since_ += batch - seen_;
  seen_ = batch;
  const bool by_batches = options_.save_freq && since_ >= *options_.save_freq;
  const bool by_time =
      options_.save_every.count() > 0 &&
      std::chrono::steady_clock::now() - saved_ >= options_.save_every;
  if (by_batches || by_time) Save(batch, logs);
}

void ModelCheckpoint::Save(int64_t batch, const Logs& logs) {
  since_ = 0;
  saved_ = std::chrono::steady_clock::now();
  if (options_.save_best_only) {
    // Not measured in this epoch, as with validation_freq.
    if (best_ && !logs.contains(options_.monitor)) return;
    const double value = MonitoredValue(logs, options_.monitor);
    const MonitorMode mode = ResolveMode(options_.mode, options_.monitor);
    if (best_ && !IsBetter(mode, value, *best_, 0)) return;
    best_ = value;
  }
  if (NamesFile(filepath_)) {
    last_path_ = CheckpointPath(filepath_, epoch_ + 1, batch + 1, logs);
    trainer().Save(last_path_);
    return;
  }
  if (manager_ == nullptr) {
    manager_ = std::make_shared<CheckpointManager>(
        trainer().coordinator(), filepath_,
        CheckpointOptions{.max_to_keep = options_.max_to_keep});
  }
  ReportError();
  const std::string name = trainer().SaveCheckpoint(*manager_);
  if (options_.save_best_only) manager_->Keep(name);
  last_path_ = filepath_ + "/" + name;
}

void ModelCheckpoint::ReportError() {
  if (manager_ == nullptr) return;
  if (const std::optional<Error> error = manager_->TakeError()) {
    std::cerr << "warning: ModelCheckpoint: " << error->what()
              << "; the training goes on\n";
  }
}

std::string ModelCheckpoint::State() const { return EncodeState({best_}); }

void ModelCheckpoint::SetState(const std::string& state) {
  const auto numbers = DecodeState(state, 1);
  if (numbers[0]) best_ = numbers[0];
}

}  // namespace capstan
