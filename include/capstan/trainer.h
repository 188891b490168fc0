// Training a model: Fit, Evaluate, Predict.
//
//   Model model = AddModel(program, ...);            // in every task
//   auto data = program.AddDataset("train", ...);
//   program.Run([&](Cluster& cluster) {
//     Trainer trainer(cluster, model,
//                     {.optimizer = Adam{}, .loss = MeanSquaredError{}});
//     History history = trainer.Fit(data, {.epochs = 10});
//   });
//
// The elements of a dataset are batches; a step trains on one of them.
// docs/training.md says what Fit promises when tasks die, and what the update
// modes mean for it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "capstan/callback.h"
#include "capstan/checkpoint.h"
#include "capstan/coordinator.h"
#include "capstan/dataset.h"
#include "capstan/export.h"
#include "capstan/function.h"
#include "capstan/optimizer.h"
#include "capstan/partitioner.h"
#include "capstan/tensor.h"
#include "capstan/variable.h"
#include "capstan/worker.h"

namespace capstan {

// --- Losses: what a model computes on a batch. Plain data, so that they can be
// sent. The loss of a batch of n examples is sum(weight * loss) / n, as in
// Keras: it is not divided by the sum of the weights.

struct BinaryCrossentropy {
  bool from_logits = true;
};
// Targets are one-hot, or probabilities. Predictions that are not logits are
// divided by their sum, as in Keras, here and below.
struct CategoricalCrossentropy {
  bool from_logits = true;
};
// Targets are class numbers.
struct SparseCategoricalCrossentropy {
  bool from_logits = true;
};
struct MeanSquaredError {};
struct MeanAbsoluteError {};
struct Huber {
  double delta = 1;
};
// Targets are -1 and 1, or 0 and 1.
struct Hinge {};
// Registered with the model, by name.
struct CustomLoss {
  std::string name = {};
};
using Loss =
    std::variant<MeanSquaredError, BinaryCrossentropy, CategoricalCrossentropy,
                 SparseCategoricalCrossentropy, MeanAbsoluteError, Huber, Hinge,
                 CustomLoss>;

// --- Metrics. Each has a name in the logs. `from_logits` says whether
// predictions are first passed through the logistic function. Unset, it is as
// in the loss.

// Binary, categorical or sparse: depending on the loss, or else on the shapes.
struct Accuracy {
  std::string name = "accuracy";
};
struct BinaryAccuracy {
  double threshold = 0.5;
  std::optional<bool> from_logits = std::nullopt;
  std::string name = "binary_accuracy";
};
// Targets are one-hot.
struct CategoricalAccuracy {
  std::string name = "categorical_accuracy";
};
// Targets are class numbers.
struct SparseCategoricalAccuracy {
  std::string name = "sparse_categorical_accuracy";
};
// Whether the class, given as a number or one-hot, is among the k with the
// highest scores. A class that ties with the k-th is, as in Keras.
struct TopKAccuracy {
  int k = 5;
  std::string name = "top_k_accuracy";
};
// The area under the ROC curve, by trapezoids over thresholds as in Keras.
struct Auc {
  int thresholds = 200;
  std::optional<bool> from_logits = std::nullopt;
  std::string name = "auc";
};
struct Precision {
  double threshold = 0.5;
  std::optional<bool> from_logits = std::nullopt;
  std::string name = "precision";
};
struct Recall {
  double threshold = 0.5;
  std::optional<bool> from_logits = std::nullopt;
  std::string name = "recall";
};
struct MeanSquaredErrorMetric {
  std::string name = "mean_squared_error";
};
struct RootMeanSquaredError {
  std::string name = "root_mean_squared_error";
};
struct MeanAbsoluteErrorMetric {
  std::string name = "mean_absolute_error";
};
// The mean of the predictions.
struct Mean {
  std::string name = "mean";
};
// Registered with the model (ModelDefinition::metrics), by name.
struct CustomMetric {
  std::string name = {};
};
using MetricSpec =
    std::variant<Accuracy, BinaryAccuracy, CategoricalAccuracy,
                 SparseCategoricalAccuracy, TopKAccuracy, Auc, Precision,
                 Recall, MeanSquaredErrorMetric, RootMeanSquaredError,
                 MeanAbsoluteErrorMetric, Mean, CustomMetric>;

// The name in the logs.
CAPSTAN_EXPORT const std::string& NameOf(const MetricSpec& metric);

// What a metric sees of one batch: views of the replica's memory, valid during
// the call. The first axis is that of the examples.
struct MetricInput {
  TensorView targets;                   // f32, f64, i64, i32, u8 or bool
  TensorView predictions;               // f32
  std::span<const float> weights = {};  // one per example; none: all are 1
};

// The running state of a metric: numbers that can be added, so that the states
// of any number of steps are merged by adding them. Used by one thread at a
// time.
class CAPSTAN_EXPORT MetricState {
 public:
  virtual ~MetricState();
  // Throws kInvalidArgument, naming both shapes, for an input that the metric
  // cannot be computed from.
  virtual void Update(const MetricInput& input) = 0;
  // Always of the same size.
  virtual std::vector<double> State() const = 0;
  // Adds a state that State returned elsewhere.
  virtual void Merge(std::span<const double> state) = 0;
  virtual double Result() const = 0;
  virtual void Reset() = 0;
};
using MetricFactory = std::function<std::unique_ptr<MetricState>()>;

// A new state of `metric`. `loss` decides what the metric leaves open; `custom`
// has the model's custom metrics. Throws kInvalidArgument for invalid
// parameters, kNotFound for a custom metric that does not exist.
CAPSTAN_EXPORT std::unique_ptr<MetricState> MakeMetric(
    const MetricSpec& metric, const Loss& loss,
    const std::map<std::string, MetricFactory>& custom = {});

// --- The model as the trainer sees it.

// A variable of a model.
struct ModelVariable {
  // The name is "<model>/<parameter>". If the variable is trainable and has no
  // optimizer, it gets the trainer's; the trainer sets `update`.
  VariableSpec spec = {};
  // Assigned once, when the variable is created; without it, the initializer of
  // `spec` is used.
  std::optional<Tensor> initial = std::nullopt;
  // Read and updated by rows, as an embedding is, and never as a whole.
  bool by_rows = false;
};

// What a step does: the same for all steps of one call of Fit, Evaluate or
// Predict.
struct StepConfig {
  Loss loss = {};
  std::vector<MetricSpec> metrics = {};
  // The weight of an example by the class number of its target or, for a
  // one-hot target, by the index of the largest element. Classes that are not
  // listed have the weight 1.
  std::map<std::int64_t, double> class_weights = {};
  // Names in the Example. An empty `weight` stands for "sample_weight", if that
  // exists.
  std::string input = "x";
  std::string target = "y";
  std::string weight = {};
  UpdateMode update = Async{};
  bool prefetch = false;
  // Which call of Fit this is. A replica may keep values from step to step, but
  // not from one call to the next, because they may have been set in between.
  std::uint64_t call = 0;
};

// The result of a step, and where its time went. Reports can be added.
struct CAPSTAN_EXPORT StepReport {
  std::uint64_t batches = 0;
  std::uint64_t examples = 0;
  double loss_sum = 0;  // of the examples, each times its weight
  // The displayed loss is loss_sum divided by this. A libtorch module adds the
  // number of its examples, whatever their weights, as Keras does.
  double weight_sum = 0;
  // One per metric of the StepConfig. Filled in by the caller of the replica.
  std::vector<std::vector<double>> metric_states = {};
  std::int64_t data_ns = 0;
  std::int64_t pull_ns = 0;
  std::int64_t compute_ns = 0;
  std::int64_t push_ns = 0;
  // The iterator ended before all batches were read.
  bool end_of_data = false;
};

template <>
struct CAPSTAN_EXPORT Type<StepReport> {
  static std::string Name() { return "step_report"; }
  static void Write(ValueWriter& writer, const StepReport& value);
  static StepReport Read(ValueReader& reader);
};

// Returns the next batch; nullopt after the last one that the step uses. The
// caller counts the time spent in it as data_ns.
using NextBatch = std::function<std::optional<Example>()>;

// One copy of a model, in a worker, or in the coordinator for its variables.
// Used by one step at a time. What it throws is the step's error.
class CAPSTAN_EXPORT ModelReplica {
 public:
  virtual ~ModelReplica();

  // Always the same ones, in the same order.
  virtual std::vector<ModelVariable> Variables() = 0;

  // Trains on batches until `next` returns nullopt, with an update for each.
  // Updates each of `metrics` per batch, and adds to batches, examples,
  // loss_sum, weight_sum, pull_ns, compute_ns and push_ns of the report.
  virtual void Train(WorkerContext& worker, const StepConfig& order,
                     const NextBatch& next,
                     std::span<const std::unique_ptr<MetricState>> metrics,
                     StepReport& report) = 0;

  // Loss and metrics without updates. Variables are read once per call and do
  // not change during it.
  virtual void Evaluate(WorkerContext& worker, const StepConfig& order,
                        const NextBatch& next,
                        std::span<const std::unique_ptr<MetricState>> metrics,
                        StepReport& report) = 0;

  // Passes the model's output for each batch to `give`, in order.
  virtual void Predict(WorkerContext& worker, const StepConfig& order,
                       const NextBatch& next,
                       const std::function<void(Tensor)>& give) = 0;
};

struct ModelDefinition {
  // Not empty, without '/'.
  std::string name = {};
  // May be called in any task, on any thread.
  std::function<std::unique_ptr<ModelReplica>()> make = nullptr;
  std::map<std::string, MetricFactory> metrics = {};
};

// A registered model: a handle, cheap to copy.
class CAPSTAN_EXPORT Model {
 public:
  struct Impl;
  explicit Model(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  const std::string& name() const;
  const Impl& impl() const { return *impl_; }

 private:
  std::shared_ptr<const Impl> impl_;
};

// Registers a model: its replicas, of which a worker has as many as it runs
// steps at the same time, and the functions <name>/train, /train_range,
// /evaluate, /evaluate_range, /predict, /predict_range and /count. Call it in
// every task, before the task runs. Throws kInvalidArgument for an invalid
// definition, and as Definitions::AddFunction does.
CAPSTAN_EXPORT Model AddModel(Definitions& program, ModelDefinition definition);

// --- Fit.

// What Fit has measured, epoch by epoch.
class CAPSTAN_EXPORT History {
 public:
  // One series per name; shorter than epochs() if not measured in every epoch.
  const std::map<std::string, std::vector<double>>& series() const {
    return series_;
  }
  // Throws kNotFound, listing the names that exist.
  const std::vector<double>& operator[](std::string_view name) const;
  const std::vector<int>& epochs() const { return epochs_; }

  // A line for each epoch: "epoch", then the names in alphabetical order; what
  // was not measured is left empty. Numbers read back as the same values.
  std::string ToCsv() const;
  // {"epoch": [0, 1], "loss": [0.5, 0.25]}; NaN and infinities are null.
  std::string ToJson() const;

  void Add(int epoch, const Logs& logs);
  // One for each of epochs().
  const std::vector<Logs>& rows() const { return rows_; }

 private:
  std::vector<int> epochs_;
  std::map<std::string, std::vector<double>> series_;
  std::vector<Logs> rows_;
};

struct TrainerOptions {
  Optimizer optimizer = RmsProp{};
  Loss loss = MeanSquaredError{};
  std::vector<MetricSpec> metrics = {};
  UpdateMode update = Async{};
  Partitioner partitioner = nullptr;
  // Read the values for the next step while this one computes, at the cost of
  // one more step of staleness.
  bool prefetch = false;
};

// Whether and when Fit saves checkpoints. It then starts from the newest one in
// the directory, if there is any: with the next batch, as if it had never
// stopped. If a parameter server is lost, Fit goes back to the newest
// checkpoint as soon as the server has returned, or without it, and continues.
// See docs/recovery.md.
struct FitCheckpoint {
  // Empty: that of `capstan run --checkpoint-dir`, if there is one; otherwise
  // no checkpoints are saved.
  std::string directory = {};
  // When to save: after so many epochs, so many batches, or so much time; 0 for
  // never. Fit also saves once at the beginning and once at the end.
  int every_epochs = 1;
  std::int64_t every_steps = 0;
  std::chrono::seconds every = std::chrono::seconds(0);
  CheckpointOptions keep = {};
  // How long to wait for a lost server, counted from when it last answered.
  std::chrono::nanoseconds server_timeout = std::chrono::minutes(1);
  // What to do then: the remaining servers take over its part, and give it back
  // at the end of the epoch in which it returns. Otherwise Fit ends with an
  // error that names the server.
  bool go_on_without = true;
};

struct FitOptions {
  // The number of the last epoch; epochs before `initial_epoch` are left out.
  int epochs = 1;
  int initial_epoch = 0;
  // Batches per epoch, which each worker reads from its own iterator. Unset:
  // the whole dataset, each element once per epoch whichever tasks die, which
  // needs a dataset of known size.
  std::optional<std::int64_t> steps_per_epoch = std::nullopt;

  // What to evaluate after every `validation_freq` epochs: either a dataset, of
  // which `validation_steps` batches are read, or all; or the last
  // `validation_split` (a fraction) of the elements, which are then not trained
  // on.
  std::optional<DatasetHandle> validation_data = std::nullopt;
  std::optional<std::int64_t> validation_steps = std::nullopt;
  double validation_split = 0;
  int validation_freq = 1;

  std::vector<CallbackHandle> callbacks = {};
  Verbose verbose = Verbose::kAuto;
  // Batches that a worker trains on at a time before it reports.
  int steps_per_execution = 1;

  // As in StepConfig.
  std::map<std::int64_t, double> class_weights = {};
  std::string input = "x";
  std::string target = "y";
  std::string sample_weight = {};

  FitCheckpoint checkpoint = {};

  // Printed at the end of the training, and passed to callbacks.
  std::string run_directory = {};
  TerminalOptions terminal = {};
};

struct EvaluateOptions {
  // Batches to read, from the first on; unset: all of them.
  std::optional<std::int64_t> steps = std::nullopt;
  // How many pieces the data is cut into. A piece is evaluated as a whole by
  // one worker, and again as a whole if that worker is lost. Unset: 64 for data
  // of known size; otherwise one for each worker, each of which reads all of
  // the data.
  std::optional<int> shards = std::nullopt;
  std::vector<CallbackHandle> callbacks = {};
  Verbose verbose = Verbose::kAuto;
  std::map<std::int64_t, double> class_weights = {};
  std::string input = "x";
  std::string target = "y";
  std::string sample_weight = {};
  TerminalOptions terminal = {};
};

struct PredictOptions {
  std::optional<std::int64_t> steps = std::nullopt;
  std::optional<int> shards = std::nullopt;
  std::vector<CallbackHandle> callbacks = {};
  Verbose verbose = Verbose::kSilent;
  std::string input = "x";
  TerminalOptions terminal = {};
};

// The progress of Fit in its epoch, for callbacks.
struct TrainProgress {
  int epoch = 0;
  // Batches that have reported, and the total, if that is known.
  std::int64_t batches = 0;
  std::optional<std::int64_t> batches_per_epoch = std::nullopt;
  // The sum of their reports, except for the metrics.
  StepReport report = {};
};

// Trains one model on one cluster. It creates the model's variables, once: a
// second Trainer of the same model throws kAlreadyExists. Used by one thread at
// a time. Must not outlive the body of the program.
class CAPSTAN_EXPORT Trainer {
 public:
  // Creates "<model>/<parameter>" for each of the model's variables, with their
  // initial values, and "<model>/iterations", which counts the batches that
  // were trained on. Throws kInvalidArgument for invalid options, and as
  // ClusterCoordinator::CreateVariables does.
  Trainer(Cluster& cluster, const Model& model, TrainerOptions options = {})
      : Trainer(ClusterCoordinator(cluster), model, std::move(options)) {}
  Trainer(ClusterCoordinator coordinator, const Model& model,
          TrainerOptions options = {});
  ~Trainer();
  Trainer(const Trainer&) = delete;
  Trainer& operator=(const Trainer&) = delete;

  // Trains. Throws kInvalidArgument for invalid options, and for a dataset of
  // unknown size if there is no steps_per_epoch; and what a step or a callback
  // throws, in which case the variables are as they were then.
  History Fit(const DatasetHandle& data, const FitOptions& options = {});

  // "loss" and the metrics, with each example counted once, whichever tasks
  // die. Throws kInvalidArgument for endless data without `steps`.
  std::map<std::string, double> Evaluate(const DatasetHandle& data,
                                         const EvaluateOptions& options = {});

  // The model's output for all batches, concatenated along the first axis.
  Tensor Predict(const DatasetHandle& data, const PredictOptions& options = {});

  // The values of all variables of the model, and of "<model>/iterations". In a
  // callback of Fit, they are of one moment between two steps, or rounds of
  // steps: no new ones begin until the running ones have ended.
  std::map<std::string, Tensor> Values();
  // Throws kInvalidArgument, naming the variable, if one is missing, unknown or
  // of another shape; then nothing is changed.
  void SetValues(const std::map<std::string, Tensor>& values);
  // The same, in a safetensors file. Save holds all values in memory in this
  // process; for a model that is too large for that, CheckpointManager::Export
  // makes such a file from a checkpoint. Load also takes an .npz file, converts
  // floating types, holds one piece of the file at a time in memory, and starts
  // the optimizers fresh, like ImportVariables (checkpoint.h). It throws
  // kNotFound if there is no file and kDataLoss for a damaged one; then nothing
  // is changed.
  void Save(const std::string& path);
  void Load(const std::string& path);

  // A checkpoint of the whole job, with the progress of this trainer; also from
  // a callback. As CheckpointManager::Save and Restore.
  std::string SaveCheckpoint(CheckpointManager& manager);
  RestoreReport RestoreCheckpoint(CheckpointManager& manager,
                                  const RestoreOptions& options = {});

  // The learning rate of the trainer's optimizer. Setting it takes effect on
  // the servers before the call returns, for all later updates, and replaces a
  // schedule. Variables with their own optimizer keep its rate.
  void SetLearningRate(double rate);
  double learning_rate() const;

  // Makes Fit begin with this epoch, if it is later than initial_epoch. For a
  // callback that has restored earlier training in OnTrainBegin.
  void BeginAtEpoch(int epoch);

  // Ends Fit as soon as the steps that were handed out are done. Called from a
  // callback.
  void StopTraining();

  // How many batches were trained on.
  std::int64_t iterations() const;
  const TrainProgress& progress() const;

  const TrainerOptions& options() const;
  const Model& model() const;
  ClusterCoordinator& coordinator();

  // For the implementation.
  struct Impl;

 private:
  const std::unique_ptr<Impl> impl_;
};

// --- The evaluator: a separate task that follows a directory of checkpoints.

struct EvaluatorOptions {
  // Empty: that of `capstan run --checkpoint-dir`.
  std::string directory = {};
  // Evaluate only the newest checkpoint each time, and none that is older than
  // one evaluated before; otherwise evaluate all, one after the other.
  bool newest_only = false;
  // What is measured.
  Loss loss = MeanSquaredError{};
  std::vector<MetricSpec> metrics = {};
  EvaluateOptions evaluate = {};
  // The file that gets a line of JSON for each evaluation. Empty:
  // evaluations.jsonl in the directory. Checkpoints that it already contains,
  // by their save_id, are not evaluated again.
  std::string json = {};
  // A folder for TensorBoard; empty: none. The step is the number of batches
  // that were trained on.
  std::string tensorboard = {};
  // The file, .safetensors or .npz, to which the best checkpoint so far is
  // exported before its line is written; empty: none. NaN is never the best.
  std::string export_best = {};
  std::string monitor = "loss";
  MonitorMode mode = MonitorMode::kAuto;
  // Return after this many evaluations.
  std::optional<int> max_evaluations = std::nullopt;
  // How often to look, and how long to find nothing before saying so.
  std::chrono::milliseconds poll = std::chrono::milliseconds(500);
  std::chrono::milliseconds hint_after = std::chrono::seconds(30);
};

// Evaluates `model` on `data` at each checkpoint, once, over all of the data,
// until the job has ended and the last checkpoint is evaluated. Runs in the
// calling thread, on the cluster of the task. Damaged checkpoints, and those
// that are removed meanwhile, are skipped with a warning. Throws
// kFailedPrecondition if a checkpoint is not of this model.
CAPSTAN_EXPORT void RunEvaluator(const EvaluatorTask& task, const Model& model,
                                 const DatasetHandle& data,
                                 const EvaluatorOptions& options);

// Makes RunEvaluator what the evaluator task of the job does.
CAPSTAN_EXPORT void AddEvaluator(Definitions& program, const Model& model,
                                 const DatasetHandle& data,
                                 const EvaluatorOptions& options = {});

}  // namespace capstan
