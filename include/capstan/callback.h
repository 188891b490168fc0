// Callbacks: hooks that run during training, evaluation and prediction.
//
//   trainer.Fit(data, {.epochs = 10,
//                      .callbacks = {ModelCheckpoint("ckpt/{epoch}"),
//                                    EarlyStopping({.patience = 2})}});
//
// The hooks are those of Keras. All of them run on the coordinator, on the
// thread that called Fit, one at a time. Batch hooks are called as steps
// finish, but always in the order of the steps and for one batch per call,
// whatever the workers do. If a hook throws, Fit ends with that error, which
// names the callback.
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
// callback may add entries to the logs of an epoch; later callbacks and the
// History see them.
using Logs = std::map<std::string, double>;

// Constant during one call of Fit, Evaluate or Predict.
struct CallbackParams {
  int epochs = 1;  // the number of the last epoch, as in FitOptions
  // Batches per epoch; nullopt if that is not known until the first has ended.
  std::optional<std::int64_t> steps = std::nullopt;
  int verbose = 0;
  std::vector<std::string> metrics = {};  // in display order
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
  // steps_per_execution, called once per execution, with its last batch.
  virtual void OnTrainBatchEnd(std::int64_t batch, Logs& logs);

  virtual void OnTestBegin(Logs& logs);
  virtual void OnTestEnd(Logs& logs);
  // Here, a batch is a shard of the data, which is evaluated as a whole.
  virtual void OnTestBatchBegin(std::int64_t batch, Logs& logs);
  virtual void OnTestBatchEnd(std::int64_t batch, Logs& logs);

  virtual void OnPredictBegin(Logs& logs);
  virtual void OnPredictEnd(Logs& logs);
  virtual void OnPredictBatchBegin(std::int64_t batch, Logs& logs);
  virtual void OnPredictBatchEnd(std::int64_t batch, Logs& logs);

  // What the callback remembers from epoch to epoch, as text. It is saved with
  // the progress of Fit, so that the callback resumes when Fit does. Empty:
  // nothing.
  virtual std::string State() const;
  virtual void SetState(const std::string& state);

  // Called with the trainer before the first hook, and with null after the
  // last.
  void Attach(Trainer* trainer, const CallbackParams& params);

 protected:
  Callback();
  Callback(const Callback&);
  Callback& operator=(const Callback&);

  // Only in a hook; elsewhere throws kFailedPrecondition.
  Trainer& trainer() const;
  const CallbackParams& params() const { return params_; }

 private:
  Trainer* trainer_ = nullptr;
  CallbackParams params_;
};

// Any callback: passed by value, which copies it, or as a shared_ptr, so that
// it can be inspected afterwards.
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

// Whether a lower or a higher value of the monitored quantity is better. kAuto:
// higher if the name contains "acc", "auc", "precision" or "recall", lower
// otherwise. NaN is worse than any number.
//
// If the monitored quantity is not measured, or not yet (as with
// validation_freq), the callback warns once on standard error and waits until
// it is.
enum class MonitorMode : std::uint8_t { kAuto, kMin, kMax };

struct EarlyStoppingOptions {
  std::string monitor = "val_loss";
  double min_delta = 0;  // a change must exceed this to count
  int patience = 0;      // epochs without improvement
  MonitorMode mode = MonitorMode::kAuto;
  std::optional<double> baseline = std::nullopt;  // to beat within `patience`
  bool restore_best_weights = false;
  int start_from_epoch = 0;  // earlier epochs are ignored
};

// Stops training when the monitored quantity has stopped improving.
class CAPSTAN_EXPORT EarlyStopping : public Callback {
 public:
  explicit EarlyStopping(EarlyStoppingOptions options = {});
  ~EarlyStopping() override;
  std::string Name() const override { return "EarlyStopping"; }
  // Leaves out the weights of the best epoch, so restore_best_weights cannot
  // restore them after a restart.
  std::string State() const override;
  void SetState(const std::string& state) override;
  void OnTrainBegin(Logs& logs) override;
  void OnEpochEnd(int epoch, Logs& logs) override;
  void OnTrainEnd(Logs& logs) override;

  // The epoch at which it stopped training, if it did, and the best epoch.
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
  bool found_ = false;  // looked for `monitor`, and warned if it was missing
};

struct ReduceLROnPlateauOptions {
  std::string monitor = "val_loss";
  double factor = 0.1;
  int patience = 10;
  MonitorMode mode = MonitorMode::kAuto;
  double min_delta = 1e-4;
  int cooldown = 0;  // epochs after a change that do not count
  double min_lr = 0;
};

// Multiplies the learning rate by `factor` when the monitored quantity has
// stopped improving. Adds "learning_rate" to the logs.
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

// Sets the learning rate at the beginning of each epoch: `schedule` gets the
// epoch and the current rate, and returns the new one. Adds "learning_rate" to
// the logs.
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
  // The current epoch and the rate before it, because an interrupted epoch
  // starts again.
  std::optional<int> epoch_;
  double rate_before_ = 0;
};

// Stops training when the loss is NaN or infinite.
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

// Calls those of the functions that are set.
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

// Where Fit, Evaluate and Predict write their output.
struct TerminalOptions {
  // Null: standard output, and standard error for warnings.
  std::ostream* stream = nullptr;
  std::ostream* warnings = nullptr;
  // Whether the output is a terminal, whether to use colour, and the width. If
  // unset, they are detected (with NO_COLOR and the size of the window); a
  // stream of the caller's is not a terminal.
  std::optional<bool> is_terminal = std::nullopt;
  std::optional<bool> color = std::nullopt;
  std::optional<int> width = std::nullopt;
  // For tests: a monotonic clock in nanoseconds. Unset: the machine's clock.
  std::function<std::int64_t()> now = nullptr;
};

// kAuto: a progress bar on a terminal, a line per epoch elsewhere.
enum class Verbose : std::int8_t {
  kAuto = -1,
  kSilent = 0,
  kProgressBar = 1,
  kLinePerEpoch = 2,
};

// Shows the progress of training: a bar with the speed, the time left, loss,
// metrics, workers and staleness, redrawn at most ten times per second; and, at
// the end of each epoch, where the time went. Fit adds one, as
// FitOptions::verbose says, unless its callbacks include one. docs/training.md
// explains the output.
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
  // Save only if `monitor` is better than ever before, and better than
  // `initial_value_threshold`.
  bool save_best_only = false;
  std::optional<double> initial_value_threshold = std::nullopt;
  // Save every `save_freq` batches or every `save_every` (0: not by time). If
  // neither is set, save after each epoch.
  std::optional<std::int64_t> save_freq = std::nullopt;
  std::chrono::seconds save_every = std::chrono::seconds(0);
  // For a directory of checkpoints: how many to keep; 0: all. With
  // save_best_only, the best one is kept in any case.
  int max_to_keep = 5;
};

// Saves while Fit trains. `filepath` is a directory of complete checkpoints,
// with the state of the optimizers and the position in the data (checkpoint.h).
// If it ends in ".safetensors" or contains "{", it is a file of the values
// alone, as written by Trainer::Save. Such a name may contain "{epoch}", which
// counts from 1, "{batch}" and any of the logs, with a format as in
// "{epoch:02d}" and "{val_loss:.2f}"; ".safetensors" is added if it is missing,
// and an existing file of that name is replaced atomically. What is saved is
// one moment between two steps, or rounds of steps, even in the middle of an
// epoch.
//
// A failed write, for example because the disk is full, is reported on standard
// error, and training continues: the next save tries again, and the failed one
// does not count as the best.
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

  // The path last written, or being written; empty if there is none.
  const std::string& last_path() const { return last_path_; }

 private:
  void MaybeSave(std::int64_t batch, const Logs& logs);
  // Saves to `file`, or as a checkpoint if that is empty. Returns false, after
  // a warning, if it could not be written.
  bool Save(const std::string& file);
  void SaveCheckpoint();
  void ReportError();

  std::string filepath_;
  ModelCheckpointOptions options_;
  std::shared_ptr<CheckpointManager> manager_;
  std::chrono::steady_clock::time_point saved_ = {};
  int epoch_ = 0;
  std::int64_t since_ = 0;  // batches since the last save
  std::int64_t seen_ = -1;  // the last batch of the epoch
  std::optional<double> best_;
  std::optional<double> best_before_;  // before the save in progress
  std::string last_path_;
  bool found_ = false;  // as in EarlyStopping
};

struct BackupAndRestoreOptions {
  // Also back up every so many batches, not only after each epoch.
  std::optional<std::int64_t> save_freq = std::nullopt;
  // Delete the backup once training has finished.
  bool delete_checkpoint = true;
};

// Keeps a backup in a folder, from which training resumes with the next batch:
// the same as FitOptions::checkpoint with this directory and one checkpoint,
// which is removed at the end.
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
  // Also write a point every so many batches, not only for each epoch.
  std::optional<std::int64_t> update_freq = std::nullopt;
  // Write histograms of the values of each variable after every so many epochs;
  // 0: never.
  int histogram_freq = 0;
  // Shown in TensorBoard's table of runs.
  std::map<std::string, std::variant<std::string, double, bool>> hparams = {};
};

// Writes event files for TensorBoard, with the folders and tags of Keras:
// `directory`/train and /validation, "epoch_loss", "batch_loss". When Fit
// resumes or goes back to a checkpoint, the files say so, and TensorBoard drops
// the points that are written again; with update_freq, only those of batches.
//
// A failed write, for example because the disk is full, is reported on standard
// error, once per epoch. Its points are lost, and later points are written to
// new files.
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
  // Calls `write` with the files, if they are open or can be created.
  void Write(const std::function<void(Files&)>& write);

  std::string directory_;
  TensorBoardOptions options_;
  std::shared_ptr<Files> files_;
  std::int64_t last_point_ = 0;  // iterations
  bool resumed_ = false;         // and not yet recorded in the files
  bool warned_ = false;          // in this epoch
};

struct CsvLoggerOptions {
  char separator = ',';
  bool append = false;  // to an existing file, instead of replacing it
};

// Writes a CSV file with a line for each epoch: "epoch", then the logs in
// alphabetical order. A value that was not measured in an epoch is left empty.
// The file is complete after each epoch. A Fit that resumes after an
// interruption, or goes back to a checkpoint, keeps the lines of the earlier
// epochs, and each epoch has one line, whether `append` is set or not.
//
// A failed write, for example because the disk is full, is reported on standard
// error and retried after the next epoch.
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

// Writes a JSON object for each epoch, one per line: {"epoch": 0, "loss": 0.5}.
// Otherwise the same as CSVLogger.
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
  bool in_file_ = false;  // it has all but the last line, and no others
  std::shared_ptr<Log> log_;
};

}  // namespace capstan
