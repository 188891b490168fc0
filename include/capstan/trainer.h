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
// The elements of a dataset are batches; a step trains on one of them. What
// Fit promises when tasks die, and what the modes of updating mean for it, is
// in docs/training.md.
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

// --- Losses: what a model computes on a batch. Data, so that it can be sent.
// The loss of a batch of n examples is sum(weight * loss) / n, as in Keras: it
// is not divided by the sum of the weights.

struct BinaryCrossentropy {
  bool from_logits = true;
};
// Targets are one-hot, or probabilities. Predictions that are no logits are
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

// --- Metrics. Each has a name in the logs; `from_logits` says that predictions
// are to be put through the logistic function first. Unset, it is as the loss
// has it.

// Binary, categorical or sparse: by the loss, or else by the shapes.
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
// Whether the class, given as a number or one-hot, is among the k that score
// highest. One that ties with the k-th is, as in Keras.
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
// Of the predictions.
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

// The running state of a metric: numbers that add up, so that the states of any
// number of steps are merged by adding. Used by one thread at a time.
class CAPSTAN_EXPORT MetricState {
 public:
  virtual ~MetricState();
  // Throws kInvalidArgument, naming both shapes, for an input that the metric
  // cannot be computed of.
  virtual void Update(const MetricInput& input) = 0;
  // Always of the same size.
  virtual std::vector<double> State() const = 0;
  // Adds what State returned elsewhere.
  virtual void Merge(std::span<const double> state) = 0;
  virtual double Result() const = 0;
  virtual void Reset() = 0;
};
using MetricFactory = std::function<std::unique_ptr<MetricState>()>;

// A new state of `metric`. `loss` decides what the metric leaves open; `custom`
// are those of the model. Throws kInvalidArgument for parameters that make no
// sense, kNotFound for a custom metric that is not there.
CAPSTAN_EXPORT std::unique_ptr<MetricState> MakeMetric(
    const MetricSpec& metric, const Loss& loss,
    const std::map<std::string, MetricFactory>& custom = {});

// --- The model as the trainer sees it.

// A variable of a model.
struct ModelVariable {
  // The name is "<model>/<parameter>". If it is trainable and has no
  // optimizer, it gets the trainer's; the trainer sets `update`.
  VariableSpec spec = {};
  // Assigned once, when the variable is made; without one its initializer is
  // what counts.
  std::optional<Tensor> initial = std::nullopt;
  // It is read and updated by rows, as an embedding is, and never as a whole.
  bool by_rows = false;
};

// What a step is to do: the same for all steps of one call of Fit, Evaluate or
// Predict.
struct StepConfig {
  Loss loss = {};
  std::vector<MetricSpec> metrics = {};
  // The weight of an example by the class number of its target; of a one-hot
  // target, by the place of its largest element. Classes that are not listed
  // have the weight 1.
  std::map<std::int64_t, double> class_weights = {};
  // Names in the Example. An empty `weight` stands for "sample_weight", if
  // there is one.
  std::string input = "x";
  std::string target = "y";
  std::string weight = {};
  UpdateMode update = Async{};
  bool prefetch = false;
  // Which call of Fit this is. A replica may keep values from step to step, but
  // not from one call to the next: they may have been set in between.
  std::uint64_t call = 0;
};

// What came of a step, and where its time went. Adds up.
struct CAPSTAN_EXPORT StepReport {
  std::uint64_t batches = 0;
  std::uint64_t examples = 0;
  double loss_sum = 0;  // of the examples, each times its weight
  // What that is divided by for the loss that is shown. A module of libtorch's
  // adds the number of its examples, whatever they weigh, as Keras does.
  double weight_sum = 0;
  // One per metric of the order. Filled in by the caller of the replica.
  std::vector<std::vector<double>> metric_states = {};
  std::int64_t data_ns = 0;
  std::int64_t pull_ns = 0;
  std::int64_t compute_ns = 0;
  std::int64_t push_ns = 0;
  // The iterator has ended before all batches were read.
  bool end_of_data = false;
};

template <>
struct CAPSTAN_EXPORT Type<StepReport> {
  static std::string Name() { return "step_report"; }
  static void Write(ValueWriter& writer, const StepReport& value);
  static StepReport Read(ValueReader& reader);
};

// The next batch; nullopt after the last one that the step is to use. The
// caller counts the time in it as data_ns.
using NextBatch = std::function<std::optional<Example>()>;

// One copy of a model, in a worker, or in the coordinator for its variables.
// Used by one step at a time. What it throws is the step's error.
class CAPSTAN_EXPORT ModelReplica {
 public:
  virtual ~ModelReplica();

  // Always the same ones, in the same order.
  virtual std::vector<ModelVariable> Variables() = 0;

  // Trains on batches until `next` gives none: an update for each. Updates each
  // of `metrics` per batch, and adds to batches, examples, loss_sum,
  // weight_sum, pull_ns, compute_ns and push_ns of the report.
  virtual void Train(WorkerContext& worker, const StepConfig& order,
                     const NextBatch& next,
                     std::span<const std::unique_ptr<MetricState>> metrics,
                     StepReport& report) = 0;

  // Loss and metrics without updates. Variables are read once per call: they
  // do not change in between.
  virtual void Evaluate(WorkerContext& worker, const StepConfig& order,
                        const NextBatch& next,
                        std::span<const std::unique_ptr<MetricState>> metrics,
                        StepReport& report) = 0;

  // Gives the model's output for one batch after the other, in order.
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

// A model that was registered: a handle, cheap to copy.
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
// steps at once, and the functions <name>/train, /train_range, /evaluate,
// /evaluate_range, /predict, /predict_range and /count. In every task, before
// it runs. Throws kInvalidArgument for a definition that makes no sense, and as
// Definitions::AddFunction.
CAPSTAN_EXPORT Model AddModel(Definitions& program, ModelDefinition definition);

// --- Fit.

// What Fit has measured, epoch by epoch.
class CAPSTAN_EXPORT History {
 public:
  // One series per name; shorter than epochs() if it was not measured in all.
  const std::map<std::string, std::vector<double>>& series() const {
    return series_;
  }
  // Throws kNotFound, naming those that there are.
  const std::vector<double>& operator[](std::string_view name) const;
  const std::vector<int>& epochs() const { return epochs_; }

  // A line for each epoch: "epoch", then the names in alphabetical order; what
  // was not measured is left empty. Numbers are such that they read back.
  std::string ToCsv() const;
  // {"epoch": [0, 1], "loss": [0.5, 0.25]}; what is no number in JSON is null.
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
  // Read the values for the next step while this one computes: one step more of
  // staleness.
  bool prefetch = false;
};

// Whether Fit saves checkpoints. It then begins with the newest one in the
// directory, if there is any: with the next batch, as if it had never stopped.
// And when a parameter server is lost, it goes back to the newest as soon as
// the server is there again, or without it, and goes on. docs/recovery.md.
struct FitCheckpoint {
  // Empty: that of `capstan run --checkpoint-dir`, if there is one; else no
  // checkpoints are saved.
  std::string directory = {};
  // When to save: after so many epochs, so many batches, or so long; each 0 for
  // never. And once at the beginning, and at the end.
  int every_epochs = 1;
  std::int64_t every_steps = 0;
  std::chrono::seconds every = std::chrono::seconds(0);
  CheckpointOptions keep = {};
  // How long to wait for a server that was lost, from when it was last heard.
  std::chrono::nanoseconds server_timeout = std::chrono::minutes(1);
  // What then: the servers that are left take over its part, and give it back
  // at the end of the epoch in which it returns; or Fit ends with its name.
  bool go_on_without = true;
};

struct FitOptions {
  // The number of the last epoch; those before `initial_epoch` are left out.
  int epochs = 1;
  int initial_epoch = 0;
  // Batches per epoch, read from an iterator of each worker's own. None: all of
  // the dataset, each element once per epoch whatever dies, which needs a
  // dataset of a known size.
  std::optional<std::int64_t> steps_per_epoch = std::nullopt;

  // What to evaluate after every `validation_freq` epochs: a dataset, of which
  // `validation_steps` batches are read, or all; or the last
  // `validation_split` of the elements, which are then not trained on.
  std::optional<DatasetHandle> validation_data = std::nullopt;
  std::optional<std::int64_t> validation_steps = std::nullopt;
  double validation_split = 0;
  int validation_freq = 1;

  std::vector<CallbackHandle> callbacks = {};
  Verbose verbose = Verbose::kAuto;
  // Batches that a worker trains on in one go, before it reports.
  int steps_per_execution = 1;

  // As in StepConfig.
  std::map<std::int64_t, double> class_weights = {};
  std::string input = "x";
  std::string target = "y";
  std::string sample_weight = {};

  FitCheckpoint checkpoint = {};

  // Named at the end of the training, and told to callbacks.
  std::string run_directory = {};
  TerminalOptions terminal = {};
};

struct EvaluateOptions {
  // Batches to read, from the first on; none: all of them.
  std::optional<std::int64_t> steps = std::nullopt;
  // Into how many pieces the data is cut. A piece is evaluated as a whole, by
  // whichever worker, and again as a whole if that is lost. None: 64 of data of
  // a known size; else one for each worker, each of which reads all of it.
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

// How far Fit is in its epoch: for callbacks.
struct TrainProgress {
  int epoch = 0;
  // Batches that have reported, and of how many, if that is known.
  std::int64_t batches = 0;
  std::optional<std::int64_t> batches_per_epoch = std::nullopt;
  // The sum of their reports, but for the metrics.
  StepReport report = {};
};

// Trains one model on one cluster. It makes the model's variables, once: a
// second Trainer of the same model throws kAlreadyExists. Used by one thread at
// a time. Must not outlive the body of the program.
class CAPSTAN_EXPORT Trainer {
 public:
  // Makes "<model>/<parameter>" for each of the model's variables, with their
  // initial values, and "<model>/iterations", which counts the batches that
  // were trained on. Throws kInvalidArgument for options that make no sense,
  // and as ClusterCoordinator::CreateVariables.
  Trainer(Cluster& cluster, const Model& model, TrainerOptions options = {})
      : Trainer(ClusterCoordinator(cluster), model, std::move(options)) {}
  Trainer(ClusterCoordinator coordinator, const Model& model,
          TrainerOptions options = {});
  ~Trainer();
  Trainer(const Trainer&) = delete;
  Trainer& operator=(const Trainer&) = delete;

  // Trains. Throws kInvalidArgument for options that make no sense, and for a
  // dataset without a known size if there is no steps_per_epoch; what a step or
  // a callback throws, in which case the variables are as they were then.
  History Fit(const DatasetHandle& data, const FitOptions& options = {});

  // "loss" and the metrics, of each example once, whatever dies. Throws
  // kInvalidArgument for data without an end and no `steps`.
  std::map<std::string, double> Evaluate(const DatasetHandle& data,
                                         const EvaluateOptions& options = {});

  // The model's output for all batches, one after the other along the first
  // axis.
  Tensor Predict(const DatasetHandle& data, const PredictOptions& options = {});

  // The values of all variables of the model, and of "<model>/iterations". In
  // a callback of Fit's: of one moment between two steps, or rounds of steps,
  // for which no new ones begin until those that run have ended.
  std::map<std::string, Tensor> Values();
  // Throws kInvalidArgument, naming the variable, if one is missing, unknown or
  // of another shape; nothing is changed then.
  void SetValues(const std::map<std::string, Tensor>& values);
  // The same, in a safetensors file. Save has all values in memory here; of a
  // model that is larger than that, CheckpointManager::Export makes such a file
  // from a checkpoint. Load takes an .npz file too, converts floating types,
  // holds a piece of the file at a time in memory, and has the optimizers begin
  // anew, as ImportVariables (checkpoint.h). It throws kNotFound without a file
  // and kDataLoss for a damaged one; nothing is changed then.
  void Save(const std::string& path);
  void Load(const std::string& path);

  // A checkpoint of the whole job, with where this trainer is; from a callback
  // too. As CheckpointManager::Save and Restore.
  std::string SaveCheckpoint(CheckpointManager& manager);
  RestoreReport RestoreCheckpoint(CheckpointManager& manager,
                                  const RestoreOptions& options = {});

  // Of the trainer's optimizer. Setting it takes effect on the servers before
  // it returns, for all updates after that, and replaces a schedule. Variables
  // with an optimizer of their own keep it.
  void SetLearningRate(double rate);
  double learning_rate() const;

  // Fit begins with this epoch, if it is later than initial_epoch. From a
  // callback in OnTrainBegin that has restored what was trained before.
  void BeginAtEpoch(int epoch);

  // Ends Fit as soon as the steps that were handed out are done. From a
  // callback.
  void StopTraining();

  // How many batches were trained on.
  std::int64_t iterations() const;
  const TrainProgress& progress() const;

  const TrainerOptions& options() const;
  const Model& model() const;
  ClusterCoordinator& coordinator();

  // Of the implementation.
  struct Impl;

 private:
  const std::unique_ptr<Impl> impl_;
};

// --- The evaluator: a task of its own that follows a directory of checkpoints.

struct EvaluatorOptions {
  // Empty: that of `capstan run --checkpoint-dir`.
  std::string directory = {};
  // Only the newest one each time, and none that is older than one before; or
  // else all, one after the other.
  bool newest_only = false;
  // What is measured.
  Loss loss = MeanSquaredError{};
  std::vector<MetricSpec> metrics = {};
  EvaluateOptions evaluate = {};
  // A line of JSON for each evaluation. Empty: evaluations.jsonl in the
  // directory. What is in it already, by its save_id, is not evaluated again.
  std::string json = {};
  // A folder for TensorBoard; empty: none. The step is the number of batches
  // that were trained on.
  std::string tensorboard = {};
  // The best so far is exported as one file, .safetensors or .npz, before its
  // line is written; empty: not. What is not a number is never the best.
  std::string export_best = {};
  std::string monitor = "loss";
  MonitorMode mode = MonitorMode::kAuto;
  // Returns after so many evaluations.
  std::optional<int> max_evaluations = std::nullopt;
  // How often it looks, and how long there may be nothing before it says so.
  std::chrono::milliseconds poll = std::chrono::milliseconds(500);
  std::chrono::milliseconds hint_after = std::chrono::seconds(30);
};

// Evaluates `model` on `data` at each checkpoint, once, over all of the data,
// until the job is over and the last one is evaluated. In this thread, on the
// cluster of the task. Damaged checkpoints, and those that are removed
// meanwhile, are passed over with a warning. Throws kFailedPrecondition if a
// checkpoint is not of this model.
CAPSTAN_EXPORT void RunEvaluator(const EvaluatorTask& task, const Model& model,
                                 const DatasetHandle& data,
                                 const EvaluatorOptions& options);

// Makes that what the job's evaluator does.
CAPSTAN_EXPORT void AddEvaluator(Definitions& program, const Model& model,
                                 const DatasetHandle& data,
                                 const EvaluatorOptions& options = {});

}  // namespace capstan
