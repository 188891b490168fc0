#include "capstan/trainer.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/random.h"
#include "base/status.h"
#include "capstan/error.h"
#include "coordinator/coordinator_impl.h"
#include "optimizer/learning_rate.h"
#include "train/create_variables.h"
#include "train/trainer_impl.h"

namespace capstan {
namespace {

LearningRate& RateOf(Optimizer& optimizer) {
  return std::visit(
      [](auto& rule) -> LearningRate& { return rule.learning_rate; },
      optimizer.rule);
}

std::vector<ModelVariable> VariablesOf(const Model& model) {
  const std::unique_ptr<ModelReplica> replica = model.impl().definition->make();
  if (replica != nullptr) return replica->Variables();
  throw Error(
      ErrorCode::kInvalidArgument,
      absl::StrCat("the model '", model.name(), "': `make` has returned null"));
}

void CheckMetrics(const TrainerOptions& options, const Model& model) {
  std::vector<std::string> names = {"loss"};
  for (const MetricSpec& metric : options.metrics) {
    // Throws if the metric is invalid.
    MakeMetric(metric, options.loss, model.impl().definition->metrics);
    if (std::count(names.begin(), names.end(), NameOf(metric)) != 0) {
      throw Error(ErrorCode::kInvalidArgument,
                  absl::StrCat("there are two metrics called '", NameOf(metric),
                               "': give one another name"));
    }
    names.push_back(NameOf(metric));
  }
}

}  // namespace

Trainer::Impl::Impl(ClusterCoordinator coordinator_in, const Model& model_in,
                    TrainerOptions options_in)
    : coordinator(std::move(coordinator_in)),
      model(model_in),
      options(std::move(options_in)),
      replicas(coordinator.CreatePerWorkerResource(model.impl().replicas)),
      shuffle_seed(Random::FromOs().NextU64()),
      first_rate(RateOf(options.optimizer)) {}

void Trainer::Impl::PublishIterations() {
  coordinator.Assign(IterationsName(), Tensor::Scalar(iterations));
}

FitRecord Trainer::Impl::FirstRecord() const {
  FitRecord record;
  record.shuffle_seed = shuffle_seed;
  return record;
}

void Trainer::Impl::Publish(const FitRecord& record) {
  published = record;
  CoordinatorMaker::ImplOf(coordinator)
      ->dispatcher.variables()
      .records()
      .Set(RecordKey(), PartOf(record));
}

PartText Trainer::Impl::PartOf(const FitRecord& record) const {
  PartText part = FitRecordPart(record);
  const std::map<std::string, PartText> added = {{RecordKey(), part}};
  ThrowIfError(
      WithContext(CoordinatorMaker::ImplOf(coordinator)
                      ->dispatcher.variables()
                      .records()
                      .CheckRoom(added),
                  absl::StrCat("model '", model.name(),
                               "': no room to keep where its training is; "
                               "train fewer models in one program, or keep "
                               "less with SetRecord")));
  return part;
}

void Trainer::Impl::AdoptRecord(const FitRecord& record) {
  published = record;
  iterations = record.iterations;
  shuffle_seed = record.shuffle_seed;
  rate_set = record.learning_rate;
  // The servers may have a rate that was set since, or one that the program no
  // longer uses.
  RateOf(options.optimizer) = rate_set ? LearningRate(*rate_set) : first_rate;
  if (rate_follows.empty()) return;
  coordinator.SetLearningRate(rate_follows, RateOf(options.optimizer));
}

bool Trainer::Impl::PassesOver(std::string_view what) {
  if (!left || calls >= left->call) return false;
  CoordinatorMaker::ImplOf(coordinator)
      ->dispatcher.logger()
      .Info(
          "model '{}': {} is passed over, as it was done before the "
          "coordinator was started again, and the servers have what came of it",
          model.name(), what);
  return true;
}

DataCount Trainer::Impl::Count(const Model::Impl::Table& table) {
  const RemoteValue<DataCount> count =
      coordinator.Schedule(model.impl().count, table);
  // If the count fails, Join takes the error, which must not stay pending.
  coordinator.Join();
  return count.Fetch();
}

size_t Trainer::Impl::Window(size_t now) {
  const CoordinatorStatus status = coordinator.Status();
  size_t window =
      std::max(now, 8 * static_cast<size_t>(std::max(1, status.workers)));
  // The workers have taken the whole window, so they may be able to take more.
  if (status.queued == 0 && status.in_flight >= now) {
    window = std::max(window, 2 * now);
  }
  // A round can complete only if all its steps are scheduled.
  if (const auto* sync = std::get_if<Sync>(&options.update)) {
    window = std::max(window,
                      2 * static_cast<size_t>(sync->replicas + sync->backup));
  } else if (const auto* bounded =
                 std::get_if<BoundedStaleness>(&options.update)) {
    window = std::max(window, static_cast<size_t>(bounded->replicas) *
                                  static_cast<size_t>(bounded->bound + 2));
  }
  return window;
}

Trainer::Trainer(ClusterCoordinator coordinator, const Model& model,
                 TrainerOptions options)
    : impl_(std::make_unique<Impl>(std::move(coordinator), model,
                                   std::move(options))) {
  CheckMetrics(impl_->options, model);
  std::vector<ModelVariable> variables = VariablesOf(model);
  for (const ModelVariable& variable : variables) {
    if (variable.spec.trainable && !variable.spec.optimizer) {
      impl_->rate_follows.push_back(variable.spec.name);
    }
  }
  impl_->variables =
      CompleteVariables(std::move(variables), model.name(), impl_->options);
  if (impl_->coordinator.attached()) {
    const std::optional<std::string> record =
        impl_->coordinator.Record(impl_->RecordKey());
    if (record) impl_->left = DecodeFitRecord(*record);
  }
  CreateModelVariables(impl_->coordinator, impl_->variables,
                       impl_->IterationsName(), model.name(),
                       impl_->options.partitioner,
                       !impl_->left || impl_->left->restoring);
  if (impl_->left && impl_->left->call == 0) {
    // The record is from before the first Fit, or from while it was restoring a
    // checkpoint.
    impl_->was_restoring = impl_->left->restoring;
    if (impl_->left->shuffle_seed != 0) {
      impl_->shuffle_seed = impl_->left->shuffle_seed;
    }
    impl_->left.reset();
  } else if (impl_->left) {
    impl_->AdoptRecord(*impl_->left);
    // Publish again, because only now is it known which part of the record is
    // dispensable.
    impl_->Publish(*impl_->left);
  } else {
    impl_->Publish(impl_->FirstRecord());
  }
  // The initial values are on the servers now.
  for (ModelVariable& variable : impl_->variables) variable.initial.reset();
}

Trainer::~Trainer() = default;

void Trainer::SetLearningRate(double rate) {
  if (impl_->PassesOver("SetLearningRate")) return;
  impl_->coordinator.SetLearningRate(impl_->rate_follows, rate);
  RateOf(impl_->options.optimizer) = rate;
  impl_->rate_set = rate;
}

std::string Trainer::SaveCheckpoint(CheckpointManager& manager) {
  if (impl_->before_cut) impl_->before_cut();
  return manager.Save([this] {
    FitRecord record = impl_->published;
    if (impl_->cut_record) {
      record = impl_->cut_record();
    } else {
      // Between two Fits, these may have changed since the last record.
      record.iterations = impl_->iterations;
      record.learning_rate = impl_->rate_set;
    }
    return std::map<std::string, std::string>{
        {impl_->RecordKey(), EncodeFitRecord(record)}};
  });
}

RestoreReport Trainer::RestoreCheckpoint(CheckpointManager& manager,
                                         const RestoreOptions& options) {
  if (impl_->PassesOver("RestoreCheckpoint")) {
    RestoreReport passed_over;
    passed_over.records = manager.Records(options.name);
    return passed_over;
  }
  RestoreReport report = manager.Restore(options);
  const auto found = report.records.find(impl_->RecordKey());
  if (found != report.records.end()) {
    impl_->AdoptRecord(DecodeFitRecord(found->second));
    impl_->PublishIterations();
  }
  return report;
}

double Trainer::learning_rate() const {
  return LearningRateAt(RateOf(impl_->options.optimizer),
                        static_cast<uint64_t>(impl_->iterations));
}

void Trainer::BeginAtEpoch(int epoch) { impl_->resume_epoch = epoch; }

void Trainer::StopTraining() { impl_->stopping = true; }

int64_t Trainer::iterations() const { return impl_->iterations; }

const TrainProgress& Trainer::progress() const { return impl_->progress; }

const TrainerOptions& Trainer::options() const { return impl_->options; }

const Model& Trainer::model() const { return impl_->model; }

ClusterCoordinator& Trainer::coordinator() { return impl_->coordinator; }

}  // namespace capstan
