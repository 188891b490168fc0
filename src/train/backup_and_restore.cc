#include <fmt/format.h>

#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "capstan/error.h"
#include "capstan/trainer.h"
#include "train/open_folder.h"
#include "train/saved_values.h"

namespace capstan {
namespace {

constexpr char kFile[] = "backup.safetensors";

}  // namespace

BackupAndRestore::BackupAndRestore(std::string directory,
                                   BackupAndRestoreOptions options)
    : directory_(std::move(directory)), options_(options) {
  if (options_.save_freq && *options_.save_freq < 1) {
    throw Error(ErrorCode::kInvalidArgument,
                absl::StrCat("BackupAndRestore: save_freq must be at least 1, "
                             "not ",
                             *options_.save_freq));
  }
}
BackupAndRestore::~BackupAndRestore() = default;

void BackupAndRestore::OnTrainBegin(Logs& /*logs*/) {
  since_ = 0;
  const std::unique_ptr<FileSystem> folder =
      OpenFolder(directory_, IfMissing::kCreate);
  if (!ValueOrThrow(folder->Exists(kFile))) return;
  const std::string path = JoinPath(directory_, kFile);
  const SavedValues saved = LoadValues(path);
  const auto epoch = saved.metadata.find("epoch");
  const auto rate = saved.metadata.find("learning_rate");
  int next = 0;
  double learning_rate = 0;
  if (epoch == saved.metadata.end() || rate == saved.metadata.end() ||
      !absl::SimpleAtoi(epoch->second, &next) || next < 0 ||
      !absl::SimpleAtod(rate->second, &learning_rate)) {
    throw Error(ErrorCode::kDataLoss,
                absl::StrCat("'", path,
                             "' is no backup of a training: it does not say "
                             "which epoch it is of"));
  }
  trainer().SetValues(saved.values);
  if (learning_rate != trainer().learning_rate()) {
    trainer().SetLearningRate(learning_rate);
  }
  trainer().BeginAtEpoch(next);
}

void BackupAndRestore::OnTrainEnd(Logs& /*logs*/) {
  if (!options_.delete_checkpoint) return;
  const std::unique_ptr<FileSystem> folder =
      OpenFolder(directory_, IfMissing::kCreate);
  const absl::Status status = folder->Remove(kFile);
  if (!absl::IsNotFound(status)) ThrowIfError(status);
}

void BackupAndRestore::OnEpochBegin(int epoch, Logs& /*logs*/) {
  epoch_ = epoch;
  seen_ = -1;
}

void BackupAndRestore::OnEpochEnd(int epoch, Logs& /*logs*/) {
  Save(epoch + 1);
}

void BackupAndRestore::OnTrainBatchEnd(int64_t batch, Logs& /*logs*/) {
  since_ += batch - seen_;
  seen_ = batch;
  if (options_.save_freq && since_ >= *options_.save_freq) Save(epoch_);
}

void BackupAndRestore::Save(int next_epoch) {
  since_ = 0;
  SaveValues(JoinPath(directory_, kFile),
             {.values = trainer().Values(),
              .metadata = {{"epoch", std::to_string(next_epoch)},
                           {"learning_rate",
                            fmt::format("{}", trainer().learning_rate())}}});
}

}  // namespace capstan
