#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/async/real_clock.h"
#include "base/error.h"
#include "base/file/open_folder.h"
#include "capstan/error.h"
#include "capstan/trainer.h"
#include "telemetry/event_file.h"
#include "train/callback/callback_state.h"
#include "train/callback/this_process.h"
#include "train/callback/warn.h"

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
  // The validation file is created on first use.
  EventFile& Validation() {
    if (validation == nullptr) {
      validation = Create("validation");
      if (restarted_at) ThrowIfError(validation->Restart(*restarted_at));
    }
    return *validation;
  }
  // Steps are epochs and, with points for batches, also batches, the next being
  // `batch`. Restart at the larger of the two, so that nothing is dropped that
  // will not be written again.
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

std::shared_ptr<TensorBoard::Files> TensorBoard::Open() const {
  auto files = std::make_shared<Files>(directory_);
  files->train = files->Create("train");
  if (options_.hparams.empty()) return files;
  std::vector<HParamMetric> metrics;
  for (const std::string& name : params().metrics) {
    metrics.push_back({.tag = "epoch_" + name, .group = "train"});
    metrics.push_back({.tag = "epoch_" + name, .group = "validation"});
  }
  files->hparams = files->Create("");
  ThrowIfError(files->hparams->HParams(options_.hparams, metrics));
  ThrowIfError(files->hparams->Flush());
  return files;
}

void TensorBoard::Write(const std::function<void(Files&)>& write) {
  try {
    if (files_ == nullptr) files_ = Open();
    write(*files_);
  } catch (const Error& error) {
    // Readers stop at a truncated event, so start new files.
    files_ = nullptr;
    if (std::exchange(warned_, true)) return;
    Warn(*this, absl::StrCat(error.what(), "; the training goes on"));
  }
}

void TensorBoard::OnTrainBegin(Logs& /*logs*/) {
  // Fail now rather than later if the folder cannot be created.
  OpenFolder(directory_, IfMissing::kCreate);
  files_ = nullptr;
  last_point_ = trainer().iterations();
  resumed_ = false;
  warned_ = false;
  Write([](Files&) {});
}

void TensorBoard::OnEpochBegin(int epoch, Logs& /*logs*/) {
  warned_ = false;
  if (!resumed_) return;
  const int64_t iterations = trainer().iterations();
  // Repeated batches get their points again.
  last_point_ = std::min(last_point_, iterations);
  Write([&](Files& files) {
    files.Restart(epoch, options_.update_freq ? iterations + 1 : 0);
    resumed_ = false;
  });
}

void TensorBoard::OnEpochEnd(int epoch, Logs& logs) {
  std::map<std::string, Tensor> values;
  if (options_.histogram_freq > 0 && epoch % options_.histogram_freq == 0) {
    values = trainer().Values();
  }
  Write([&](Files& files) {
    for (const auto& [name, value] : logs) {
      const bool validation = absl::StartsWith(name, kValidation);
      EventFile& file = validation ? files.Validation() : *files.train;
      const std::string plain =
          validation ? name.substr(sizeof(kValidation) - 1) : name;
      ThrowIfError(file.Scalar("epoch_" + plain, epoch, value));
    }
    for (const auto& [name, value] : values) {
      if (value.dtype() != DType::kF32) continue;
      ThrowIfError(files.train->Histogram(name, epoch, value.Values<float>()));
    }
    ThrowIfError(files.train->Flush());
    if (files.validation != nullptr) ThrowIfError(files.validation->Flush());
  });
}

void TensorBoard::OnTrainBatchEnd(int64_t /*batch*/, Logs& logs) {
  if (!options_.update_freq) return;
  const int64_t iterations = trainer().iterations();
  if (iterations - last_point_ < *options_.update_freq) return;
  last_point_ = iterations;
  Write([&](Files& files) {
    for (const auto& [name, value] : logs) {
      ThrowIfError(files.train->Scalar("batch_" + name, iterations, value));
    }
    // A killed coordinator would lose what is still in memory.
    ThrowIfError(files.train->Flush());
  });
}

void TensorBoard::OnTrainEnd(Logs& /*logs*/) {
  Write([](Files& files) {
    ThrowIfError(files.train->Flush());
    if (files.hparams == nullptr) return;
    ThrowIfError(files.hparams->EndHParams(HParamsOutcome::kSuccess));
    ThrowIfError(files.hparams->Flush());
  });
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
