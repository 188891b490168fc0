#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "capstan/error.h"
#include "capstan/trainer.h"
#include "coordinator/coordinator_impl.h"
#include "train/callback/callback_state.h"
#include "train/callback/checkpoint_path.h"
#include "train/callback/monitor.h"
#include "train/callback/warn.h"

namespace capstan {
namespace {

// Whether the path names a file of values; otherwise it names a directory.
bool NamesFile(const std::string& path) {
  return absl::EndsWith(path, ".safetensors") || absl::StrContains(path, "{");
}

// Whether the checkpoint `path` exists despite an error: the error may have
// been in removing older ones.
bool IsWritten(const CheckpointManager& manager, const std::string& path) {
  try {
    const std::vector<std::string> names = manager.checkpoints();
    return std::any_of(names.begin(), names.end(), [&](const auto& name) {
      return path == manager.directory() + "/" + name;
    });
  } catch (const Error&) {
    return false;
  }
}

// Whether the training itself has failed since `before`: a step failed or a
// server was lost. The error may already have been reported to code that
// scheduled steps meanwhile, and is then no longer pending.
bool HasFailed(const QueueCounts& before, const QueueCounts& now) {
  return !now.error.ok() || now.failed != before.failed ||
         now.cancelled != before.cancelled;
}

}  // namespace

ModelCheckpoint::ModelCheckpoint(std::string filepath,
                                 ModelCheckpointOptions options)
    : filepath_(std::move(filepath)),
      options_(std::move(options)),
      best_(options_.initial_value_threshold),
      best_before_(best_) {
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
  found_ = false;
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
    MaybeSave(seen_, logs);
  }
}

void ModelCheckpoint::OnTrainBatchEnd(int64_t batch, Logs& logs) {
  since_ += batch - seen_;
  seen_ = batch;
  const bool by_batches = options_.save_freq && since_ >= *options_.save_freq;
  const bool by_time =
      options_.save_every.count() > 0 &&
      std::chrono::steady_clock::now() - saved_ >= options_.save_every;
  if (by_batches || by_time) MaybeSave(batch, logs);
}

void ModelCheckpoint::MaybeSave(int64_t batch, const Logs& logs) {
  since_ = 0;
  saved_ = std::chrono::steady_clock::now();
  std::optional<double> value;
  if (options_.save_best_only) {
    value = FindMonitored(*this, logs, options_.monitor, found_);
    const MonitorMode mode = ResolveMode(options_.mode, options_.monitor);
    if (!value || !IsBetter(mode, *value, best_before_, 0)) return;
    // Only now, because this waits for the checkpoint being written.
    ReportError();
    if (!IsBetter(mode, *value, best_, 0)) return;
  }
  // A wrong pattern is the user's mistake, not an error of the disk, so throw.
  const std::string file =
      NamesFile(filepath_)
          ? CheckpointPath(filepath_, epoch_ + 1, batch + 1, logs)
          : "";
  ReportError();
  if (!Save(file) || !value) return;
  best_before_ = file.empty() ? best_ : value;
  best_ = value;
}

bool ModelCheckpoint::Save(const std::string& file) {
  const ClosureQueue& queue =
      CoordinatorMaker::ImplOf(trainer().coordinator())->dispatcher.queue();
  const QueueCounts before = queue.counts();
  try {
    if (file.empty()) {
      SaveCheckpoint();
    } else {
      trainer().Save(file);
      last_path_ = file;
    }
    return true;
  } catch (const Error& error) {
    if (HasFailed(before, queue.counts())) throw;
    // The folder may be a different one on the next attempt.
    manager_ = nullptr;
    Warn(*this,
         absl::StrCat("nothing was saved to '", file.empty() ? filepath_ : file,
                      "': ", error.what(), "; the training goes on"));
    return false;
  }
}

void ModelCheckpoint::SaveCheckpoint() {
  if (manager_ == nullptr) {
    manager_ = std::make_shared<CheckpointManager>(
        trainer().coordinator(), filepath_,
        CheckpointOptions{.max_to_keep = options_.max_to_keep});
  }
  const std::string name = trainer().SaveCheckpoint(*manager_);
  if (options_.save_best_only) manager_->Keep(name);
  last_path_ = filepath_ + "/" + name;
}

void ModelCheckpoint::ReportError() {
  if (manager_ == nullptr) return;
  try {
    manager_->Wait();
  } catch (const Error& error) {
    Warn(*this, absl::StrCat(error.what(), "; the training goes on"));
    // A checkpoint counts as the best only if it can be read back.
    if (!IsWritten(*manager_, last_path_)) best_ = best_before_;
  }
  best_before_ = best_;
}

std::string ModelCheckpoint::State() const { return EncodeState({best_}); }

void ModelCheckpoint::SetState(const std::string& state) {
  const auto numbers = DecodeState(state, 1);
  if (numbers[0]) best_ = best_before_ = numbers[0];
}

}  // namespace capstan
