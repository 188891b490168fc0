#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/open_folder.h"
#include "base/real_clock.h"
#include "capstan/error.h"
#include "capstan/trainer.h"
#include "metrics/event_file.h"
#include "train/callback_state.h"
#include "train/this_process.h"

namespace capstan {
namespace {

constexpr char kValidation[] = "val_";

}  // namespace

struct TensorBoard::Files {
  explicit Files(const std::string& directory)
      : folder(OpenFolder(directory, IfMissing::kCreate)) {}

  std::unique_ptr<EventFile> Create(const std::string& name) {
    return ValueOrThrow(EventFile::Create(*folder, name, clock, ThisProcess()));
  }
  // That of validation is made when there is something to write to it.
  EventFile& Validation() {
    if (validation == nullptr) {
      validation = Create("validation");
      if (restarted_at) ThrowIfError(validation->Restart(*restarted_at));
    }
    return *validation;
  }
  // The steps are epochs; with points of batches, these too, of which the next
  // is `batch`. The larger of the two then, so that nothing is dropped that
  // does not come again.
  void Restart(int epoch, int64_t batch) {
    ThrowIfError(train->Restart(std::max<int64_t>(epoch, batch)));
    if (validation != nullptr) ThrowIfError(validation->Restart(epoch));
    restarted_at = epoch;
  }

  const RealClock clock;
  const std::unique_ptr<FileSystem> folder;
  std::unique_ptr<EventFile> train;
  std::unique_ptr<EventFile> validation;
  std::unique_ptr<EventFile> hparams;
  std::optional<int> restarted_at;  // epoch
};

TensorBoard::TensorBoard(std::string directory, TensorBoardOptions options)
    : directory_(std::move(directory)), options_(std::move(options)) {
  if (options_.histogram_freq < 0 ||
      (options_.update_freq && *options_.update_freq < 1)) {
    throw Error(ErrorCode::kInvalidArgument,
                "TensorBoard: update_freq must be at least 1, and "
                "histogram_freq not negative");
  }
}
TensorBoard::~TensorBoard() = default;

void TensorBoard::OnTrainBegin(Logs& /*logs*/) {
  files_ = std::make_shared<Files>(directory_);
  files_->train = files_->Create("train");
  last_point_ = trainer().iterations();
  resumed_ = false;
  if (options_.hparams.empty()) return;
  std::vector<HParamMetric> metrics;
  for (const std::string& name : params().metrics) {
    metrics.push_back({.tag = "epoch_" + name, .group = "train"});
    metrics.push_back({.tag = "epoch_" + name, .group = "validation"});
  }
  files_->hparams = files_->Create("");
  ThrowIfError(files_->hparams->HParams(options_.hparams, metrics));
  ThrowIfError(files_->hparams->Flush());
}

void TensorBoard::OnEpochBegin(int epoch, Logs& /*logs*/) {
  if (!std::exchange(resumed_, false)) return;
  const int64_t iterations = trainer().iterations();
  // Points come again of what comes again.
  last_point_ = std::min(last_point_, iterations);
  files_->Restart(epoch, options_.update_freq ? iterations + 1 : 0);
}

void TensorBoard::OnEpochEnd(int epoch, Logs& logs) {
  EventFile& train = *files_->train;
  for (const auto& [name, value] : logs) {
    const bool validation = absl::StartsWith(name, kValidation);
    EventFile& file = validation ? files_->Validation() : train;
    const std::string plain =
        validation ? name.substr(sizeof(kValidation) - 1) : name;
    ThrowIfError(file.Scalar("epoch_" + plain, epoch, value));
  }
  if (options_.histogram_freq > 0 && epoch % options_.histogram_freq == 0) {
    for (const auto& [name, value] : trainer().Values()) {
      if (value.dtype() != DType::kF32) continue;
      ThrowIfError(train.Histogram(name, epoch, value.Values<float>()));
    }
  }
  ThrowIfError(train.Flush());
  if (files_->validation != nullptr) ThrowIfError(files_->validation->Flush());
}

void TensorBoard::OnTrainBatchEnd(int64_t /*batch*/, Logs& logs) {
  if (!options_.update_freq) return;
  const int64_t iterations = trainer().iterations();
  if (iterations - last_point_ < *options_.update_freq) return;
  last_point_ = iterations;
  for (const auto& [name, value] : logs) {
    ThrowIfError(files_->train->Scalar("batch_" + name, iterations, value));
  }
}

void TensorBoard::OnTrainEnd(Logs& /*logs*/) {
  ThrowIfError(files_->train->Flush());
  if (files_->hparams != nullptr) {
    ThrowIfError(files_->hparams->EndHParams(RunEnd::kSuccess));
    ThrowIfError(files_->hparams->Flush());
  }
  files_ = nullptr;
}

std::string TensorBoard::State() const {
  return EncodeState({static_cast<double>(last_point_)});
}

void TensorBoard::SetState(const std::string& state) {
  const auto numbers = DecodeState(state, 1);
  if (numbers[0]) last_point_ = static_cast<int64_t>(*numbers[0]);
  resumed_ = true;
}

}  // namespace capstan
