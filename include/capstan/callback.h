// Callbacks: what is called while a model is trained, evaluated or asked.
//
//   trainer.Fit(data, {.epochs = 10,
//                      .callbacks = {ModelCheckpoint("ckpt/{epoch}"),
//                                    EarlyStopping({.patience = 2})}});
//
// The hooks are those of Keras. All run on the coordinator, on the thread that
// called Fit, one at a time; those of batches are called in the order of the
// steps, as these finish, and so one batch per call whatever the workers do.
// What a hook throws ends Fit with that error, naming the callback.
#pragma once

#include <chrono>
#include <concepts>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "capstan/export.h"
#include "capstan/tensor.h"

namespace capstan {

class CheckpointManager;
class Trainer;

// What was measured, by name: "loss", the metrics, "val_loss" and so on. A
// callback may add to those of an epoch: later callbacks and the History see
// it.
using Logs = std::map<std::string, double>;

// What is the same for a whole call of Fit, Evaluate or Predict.
struct CallbackParams {
  int epochs = 1;  // the number of the last one, as FitOptions has it
  // Batches per epoch; nullopt if that is not known before the first has ended.
  std::optional<std::int64_t> steps = std::nullopt;
  int verbose = 0;
  std::vector<std::string> metrics = {};  // in the order in which to show them
  std::string run_directory = {};
};

// Base of all callbacks. Each hook does nothing unless it is overridden. Epochs
// and batches count from 0.
class CAPSTAN_EXPORT Callback {
 public:
  virtual ~Callback();

  // For messages; the name of the class.
  virtual std::string Name() const;

  virtual void OnTrainBegin(Logs& logs);
  virtual void OnTrainEnd(Logs& logs);
  virtual void OnEpochBegin(int epoch, Logs& logs);
  virtual void OnEpochEnd(int epoch, Logs& logs);
  virtual void OnTrainBatchBegin(std::int64_t batch, Logs& logs);
  // The logs are those of the epoch so far, as in Keras. With
  // steps_per_execution called once for each execution, with its last batch.
  virtual void OnTrainBatchEnd(std::int64_t batch, Logs& logs);

  virtual void OnTestBegin(Logs& logs);
  virtual void OnTestEnd(Logs& logs);
  // A batch is here a shard of the data, which is evaluated as a whole.
  virtual void OnTestBatchBegin(std::int64_t batch, Logs& logs);
  virtual void OnTestBatchEnd(std::int64_t batch, Logs& logs);

  virtual void OnPredictBegin(Logs& logs);
  virtual void OnPredictEnd(Logs& logs);
  virtual void OnPredictBatchBegin(std::int64_t batch, Logs& logs);
  virtual void OnPredictBatchEnd(std::int64_t batch, Logs& logs);

  // What it remembers from epoch to epoch, as text: kept where Fit is kept, so
  // that it goes on too when Fit does. Empty: nothing.
  virtual std::string State() const;
  virtual void SetState(const std::string& state);

  // Called before the first hook, and after the last with null.
  void Attach(Trainer* trainer, const CallbackParams& params);

 protected:
  Callback();
  Callback(const Callback&);
  Callback& operator=(const Callback&);

  // In a hook; elsewhere throws kFailedPrecondition.
  Trainer& trainer() const;
  const CallbackParams& params() const { return params_; }

 private:
  Trainer* trainer_ = nullptr;
  CallbackParams params_;
};

// Any callback, as a value, which is copied, or as a shared_ptr, to look into
// it afterwards.
class CAPSTAN_EXPORT CallbackHandle {
 public:
  template <std::derived_from<Callback> C>
  CallbackHandle(C callback)  // NOLINT: a callback is a handle
      : callback_(std::make_shared<C>(std::move(callback))) {}
  template <std::derived_from<Callback> C>
  CallbackHandle(std::shared_ptr<C> callback)  // NOLINT: as above
      : callback_(std::move(callback)) {}

  Callback& operator*() const { return *callback_; }
  Callback* operator->() const { return callback_.get(); }
  const std::shared_ptr<Callback>& get() const { return callback_; }

 private:
  std::shared_ptr<Callback> callback_;
};

// Whether less of what is watched is better, or more. kAuto: more of names that
// have "acc", "auc", "precision" or "recall" in them, less of all others. What
// is no number is worse than any.
//
// A callback that watches something which is not measured, or not yet, as with
// validation_freq, says so once on standard error and waits until it is.
enum class MonitorMode : std::uint8_t { kAuto, kMin, kMax };

struct EarlyStoppingOptions {
  std::string monitor = "val_loss";
  double min_delta = 0;  // less than that is no improvement
  int patience = 0;      // epochs without one
  MonitorMode mode = MonitorMode::kAuto;
  std::optional<double> baseline = std::nullopt;  // to be reached in time
  bool restore_best_weights = false;
  int start_from_epoch = 0;  // epochs before it are not looked at
};

// Ends the training when what it watches has stopped to improve.
class CAPSTAN_EXPORT EarlyStopping : public Callback {
 public:
  explicit EarlyStopping(EarlyStoppingOptions options = {});
  ~EarlyStopping() override;
  std::string Name() const override { return "EarlyStopping"; }
  // Without the weights of the best epoch: see restore_best_weights.
  std::string State() const override;
  void SetState(const std::string& state) override;
  void OnTrainBegin(Logs& logs) override;
  void OnEpochEnd(int epoch, Logs& logs) override;
  void OnTrainEnd(Logs& logs) override;

  // The epoch at which it ended the training, if it did; the best one.
  std::optional<int> stopped_epoch() const { return stopped_epoch_; }
  std::optional<int> best_epoch() const { return best_epoch_; }

 private:
  bool Improves(double value, std::optional<double> than) const;

  EarlyStoppingOptions options_;
  int waited_ = 0;
  std::optional<double> best_;
  std::optional<int> best_epoch_;
  std::optional<int> stopped_epoch_;
  std::map<std::string, Tensor> best_values_;
  bool found_ = false;  // what is watched; or it was said that it is not there
};

struct ReduceLROnPlateauOptions {
  std::string monitor = "val_loss";
  double factor = 0.1;
  int patience = 10;
  MonitorMode mode = MonitorMode::kAuto;
  double min_delta = 1e-4;
  int cooldown = 0;  // epochs after a change in which none is counted
  double min_lr = 0;
};

// Multiplies the learning rate by a factor when what it watches has stopped to
// improve. Adds "learning_rate" to the logs.
class CAPSTAN_EXPORT ReduceLROnPlateau : public Callback {
 public:
  // Throws kInvalidArgument for a factor that is not below 1.
  explicit ReduceLROnPlateau(ReduceLROnPlateauOptions options = {});
  ~ReduceLROnPlateau() override;
  std::string Name() const override { return "ReduceLROnPlateau"; }
  std::string State() const override;
  void SetState(const std::string& state) override;
  void OnTrainBegin(Logs& logs) override;
  void OnEpochEnd(int epoch, Logs& logs) override;

 private:
  ReduceLROnPlateauOptions options_;
  std::optional<double> best_;
  int waited_ = 0;
  int cooling_ = 0;
  bool found_ = false;  // as in EarlyStopping
};

// Sets the learning rate at the beginning of each epoch: `schedule` is given
// the epoch and the rate so far. Adds "learning_rate" to the logs.
class CAPSTAN_EXPORT LearningRateScheduler : public Callback {
 public:
  explicit LearningRateScheduler(
      std::function<double(int epoch, double rate)> schedule);
  ~LearningRateScheduler() override;
  std::string Name() const override { return "LearningRateScheduler"; }
  void OnTrainBegin(Logs& logs) override;
  void OnEpochBegin(int epoch, Logs& logs) override;
  void OnEpochEnd(int epoch, Logs& logs) override;
  std::string State() const override;
  void SetState(const std::string& state) override;

 private:
  std::function<double(int, double)> schedule_;
  // The epoch that has begun, and the rate before it: an epoch that was cut off
  // begins again.
  std::optional<int> epoch_;
  double rate_before_ = 0;
};

// Ends the training when the loss is not a number, or infinite.
class CAPSTAN_EXPORT TerminateOnNaN : public Callback {
 public:
  TerminateOnNaN();
  ~TerminateOnNaN() override;
  std::string Name() const override { return "TerminateOnNaN"; }
  void OnTrainBatchEnd(std::int64_t batch, Logs& logs) override;
};

struct LambdaCallbackFunctions {
  std::function<void(Logs&)> on_train_begin = nullptr;
  std::function<void(Logs&)> on_train_end = nullptr;
  std::function<void(int, Logs&)> on_epoch_begin = nullptr;
  std::function<void(int, Logs&)> on_epoch_end = nullptr;
  std::function<void(std::int64_t, Logs&)> on_train_batch_begin = nullptr;
  std::function<void(std::int64_t, Logs&)> on_train_batch_end = nullptr;
};

// Calls functions, those that are there.
class CAPSTAN_EXPORT LambdaCallback : public Callback {
 public:
  explicit LambdaCallback(LambdaCallbackFunctions functions);
  ~LambdaCallback() override;
  std::string Name() const override { return "LambdaCallback"; }
  void OnTrainBegin(Logs& logs) override;
  void OnTrainEnd(Logs& logs) override;
  void OnEpochBegin(int epoch, Logs& logs) override;
  void OnEpochEnd(int epoch, Logs& logs) override;
  void OnTrainBatchBegin(std::int64_t batch, Logs& logs) override;
  void OnTrainBatchEnd(std::int64_t batch, Logs& logs) override;

 private:
  LambdaCallbackFunctions functions_;
};

// Where Fit, Evaluate and Predict write to.
struct TerminalOptions {
  // Null: standard output; and for warnings standard error.
  std::ostream* stream = nullptr;
  std::ostream* warnings = nullptr;
  // Whether it is a terminal, in colour, and how wide. Unset, they are found
  // out (NO_COLOR and the size of the window); a stream of the caller's is no
  // terminal.
  std::optional<bool> is_terminal = std::nullopt;
  std::optional<bool> color = std::nullopt;
  std::optional<int> width = std::nullopt;
  // For tests: nanoseconds that only grow. Unset: the machine's clock.
  std::function<std::int64_t()> now = nullptr;
};

// kAuto is a progress bar on a terminal, and a line per epoch elsewhere.
enum class Verbose : std::int8_t {
  kAuto = -1,
  kSilent = 0,
  kProgressBar = 1,
  kLinePerEpoch = 2,
};

// Shows how the training goes: a bar with the speed, the time left, loss,
// metrics, workers and staleness, at most ten times per second; at the end of
// each epoch where the time went. Fit adds one, as FitOptions::verbose says,
// unless there is one in its callbacks. docs/training.md explains the lines.
class CAPSTAN_EXPORT ProgressBar : public Callback {
 public:
  explicit ProgressBar(Verbose verbose = Verbose::kAuto,
                       TerminalOptions terminal = {});
  ~ProgressBar() override;
  ProgressBar(const ProgressBar& other);
  ProgressBar& operator=(const ProgressBar& other);
  std::string Name() const override { return "ProgressBar"; }
  void OnTrainBegin(Logs& logs) override;
  void OnTrainEnd(Logs& logs) override;
  void OnEpochBegin(int epoch, Logs& logs) override;
  void OnEpochEnd(int epoch, Logs& logs) override;
  void OnTrainBatchEnd(std::int64_t batch, Logs& logs) override;
  void OnTestBegin(Logs& logs) override;
  void OnTestEnd(Logs& logs) override;
  void OnTestBatchEnd(std::int64_t batch, Logs& logs) override;
  void OnPredictBegin(Logs& logs) override;
  void OnPredictEnd(Logs& logs) override;
  void OnPredictBatchEnd(std::int64_t batch, Logs& logs) override;

 private:
  struct State;
  State& Begin();
  void ShowPieces(std::int64_t piece, const Logs& logs);
  void EndPieces(const char* what, const Logs& logs);

  Verbose verbose_;
  TerminalOptions terminal_;
  std::shared_ptr<State> state_;  // while something runs
};

struct ModelCheckpointOptions {
  std::string monitor = "val_loss";
  MonitorMode mode = MonitorMode::kAuto;
  // Only if what is watched is better than ever before, and than this.
  bool save_best_only = false;
  std::optional<double> initial_value_threshold = std::nullopt;
  // Every so many batches, or so long (0: not by time); else after each epoch.
  std::optional<std::int64_t> save_freq = std::nullopt;
  std::chrono::seconds save_every = std::chrono::seconds(0);
  // Of a directory of checkpoints: how many are kept; 0: all. With
  // save_best_only the best is kept in any case.
  int max_to_keep = 5;
};

// Saves while Fit trains. `filepath` is a directory of whole checkpoints, with
// the state of the optimizers and the place in the data (checkpoint.h). Or, if
// it ends in ".safetensors" or has "{" in it, a file of the values alone, as
// Trainer::Save: it may have "{epoch}", which counts from 1, "{batch}" and any
// of the logs in it, with a format as in "{epoch:02d}" and "{val_loss:.2f}";
// ".safetensors" is added if it is missing, and a file of that name is
// replaced, whole or not at all. What is saved is one moment between two steps,
// or rounds of steps, also in the middle of an epoch.
//
// What cannot be written, as when the disk is full, is said on standard error,
// and the training goes on: the next save tries again, and it was no best.
class CAPSTAN_EXPORT ModelCheckpoint : public Callback {
 public:
  explicit ModelCheckpoint(std::string filepath,
                           ModelCheckpointOptions options = {});
  ~ModelCheckpoint() override;
  std::string Name() const override { return "ModelCheckpoint"; }
  void OnTrainBegin(Logs& logs) override;
  void OnTrainEnd(Logs& logs) override;
  std::string State() const override;
  void SetState(const std::string& state) override;
  void OnEpochBegin(int epoch, Logs& logs) override;
  void OnEpochEnd(int epoch, Logs& logs) override;
  void OnTrainBatchEnd(std::int64_t batch, Logs& logs) override;

  // What was written last, or is being written; empty if there is nothing.
  const std::string& last_path() const { return last_path_; }

 private:
  void MaybeSave(std::int64_t batch, const Logs& logs);
  // To `file`, or as a checkpoint if that is empty. False if it could not be
  // written, which it says.
  bool Save(const std::string& file);
  void SaveCheckpoint();
  void ReportError();

  std::string filepath_;
  ModelCheckpointOptions options_;
  std::shared_ptr<CheckpointManager> manager_;
  std::chrono::steady_clock::time_point saved_ = {};
  int epoch_ = 0;
  std::int64_t since_ = 0;  // batches since it was saved
  std::int64_t seen_ = -1;  // the last batch of the epoch
  std::optional<double> best_;
  std::optional<double> best_before_;  // what is being written
  std::string last_path_;
  bool found_ = false;  // as in EarlyStopping
};

struct BackupAndRestoreOptions {
  // Every so many batches too, not only after each epoch.
  std::optional<std::int64_t> save_freq = std::nullopt;
  // The backup of a training that has come to its end is of no more use.
  bool delete_checkpoint = true;
};

// Keeps a backup in a folder, and goes on from it with the next batch: the same
// as FitOptions::checkpoint with this directory and one checkpoint, which is
// removed at the end.
class CAPSTAN_EXPORT BackupAndRestore : public Callback {
 public:
  explicit BackupAndRestore(std::string directory,
                            BackupAndRestoreOptions options = {});
  ~BackupAndRestore() override;
  std::string Name() const override { return "BackupAndRestore"; }

  const std::string& directory() const { return directory_; }
  const BackupAndRestoreOptions& options() const { return options_; }

 private:
  std::string directory_;
  BackupAndRestoreOptions options_;
};

struct TensorBoardOptions {
  // A point for every so many batches too, not only for each epoch.
  std::optional<std::int64_t> update_freq = std::nullopt;
  // How the values of each variable are spread, after every so many epochs; 0:
  // never.
  int histogram_freq = 0;
  // Shown in the table of runs.
  std::map<std::string, std::variant<std::string, double, bool>> hparams = {};
};

// Writes event files for TensorBoard, with the folders and tags of Keras:
// `directory`/train and /validation, "epoch_loss", "batch_loss". A Fit that
// goes on, or goes back, says so in them, and TensorBoard drops the points that
// come again; with update_freq only those of batches.
//
// What cannot be written, as when the disk is full, is said on standard error,
// once in an epoch, and is missing; what comes after it is written to new
// files.
class CAPSTAN_EXPORT TensorBoard : public Callback {
 public:
  explicit TensorBoard(std::string directory, TensorBoardOptions options = {});
  ~TensorBoard() override;
  std::string Name() const override { return "TensorBoard"; }
  std::string State() const override;
  void SetState(const std::string& state) override;
  void OnTrainBegin(Logs& logs) override;
  void OnTrainEnd(Logs& logs) override;
  void OnEpochBegin(int epoch, Logs& logs) override;
  void OnEpochEnd(int epoch, Logs& logs) override;
  void OnTrainBatchEnd(std::int64_t batch, Logs& logs) override;

 private:
  struct Files;
  std::shared_ptr<Files> Open() const;
  // Calls `write` with the files, if there are any or they can be made.
  void Write(const std::function<void(Files&)>& write);

  std::string directory_;
  TensorBoardOptions options_;
  std::shared_ptr<Files> files_;
  std::int64_t last_point_ = 0;  // iterations
  bool resumed_ = false;         // and that is not yet in the files
  bool warned_ = false;          // in this epoch
};

struct CsvLoggerOptions {
  char separator = ',';
  bool append = false;  // to what is there, rather than in its place
};

// A line for each epoch in a CSV file: "epoch", and the logs in alphabetical
// order. What is not measured in an epoch is empty there. The file is whole
// after each epoch. A Fit that goes on where it was cut off, or back to a
// checkpoint, keeps the lines of the epochs before, and each epoch has one
// line, whether `append` is set or not.
//
// What cannot be written, as when the disk is full, is said on standard error,
// and tried again after the next epoch.
class CAPSTAN_EXPORT CSVLogger : public Callback {
 public:
  explicit CSVLogger(std::string path, CsvLoggerOptions options = {});
  ~CSVLogger() override;
  std::string Name() const override { return "CSVLogger"; }
  std::string State() const override;
  void SetState(const std::string& state) override;
  void OnTrainBegin(Logs& logs) override;
  void OnEpochEnd(int epoch, Logs& logs) override;

 private:
  struct Log;
  std::string path_;
  CsvLoggerOptions options_;
  std::shared_ptr<Log> log_;
};

// A JSON object for each epoch, one per line: {"epoch": 0, "loss": 0.5}. As
// CSVLogger otherwise.
class CAPSTAN_EXPORT JSONLogger : public Callback {
 public:
  explicit JSONLogger(std::string path, bool append = false);
  ~JSONLogger() override;
  std::string Name() const override { return "JSONLogger"; }
  std::string State() const override;
  void SetState(const std::string& state) override;
  void OnTrainBegin(Logs& logs) override;
  void OnEpochEnd(int epoch, Logs& logs) override;

 private:
  struct Log;
  void Write(bool last_only) const;

  std::string path_;
  bool append_;
  bool in_file_ = false;  // it has all but the last, and nothing else
  std::shared_ptr<Log> log_;
};

}  // namespace capstan
