#include "train/fit_run.h"

#include <fmt/format.h>

#include <iostream>

#include "capstan/error.h"
#include "train/check_fit_options.h"
#include "train/model_order.h"
#include "train/step_report.h"
#include "train/terminal.h"

namespace capstan {
namespace {

constexpr std::uint64_t kStepsBetweenLooks = 64;

ModelOrder OrderOf(Trainer::Impl& trainer, const FitOptions& options) {
  CheckFitOptions(options, trainer.options.update);
  ModelOrder order;
  order.loss = trainer.options.loss;
  order.metrics = trainer.options.metrics;
  order.class_weights = options.class_weights;
  order.input = options.input;
  order.target = options.target;
  order.weight = options.sample_weight;
  order.update = trainer.options.update;
  order.prefetch = trainer.options.prefetch;
  order.call = ++trainer.calls;
  return order;
}

CallbackParams ParamsOf(const FitOptions& options, const ModelOrder& order,
                        const FitSteps& steps) {
  CallbackParams params;
  params.epochs = options.epochs;
  params.steps = steps.batches_per_epoch();
  params.verbose = static_cast<int>(options.verbose);
  params.metrics = MetricNames(order);
  params.run_directory = options.run_directory;
  return params;
}

}  // namespace

FitRun::FitRun(Trainer& trainer, Trainer::Impl& impl, const DatasetHandle& data,
               const FitOptions& options)
    : impl_(impl),
      options_(options),
      order_(OrderOf(impl, options)),
      table_(impl.coordinator.CreatePerWorkerResource(data.table())),
      steps_(impl, data, table_, options, EncodeOrder(order_)),
      validation_order_(order_),
      callbacks_(
          WithDisplay(options.callbacks, options.verbose, options.terminal),
          trainer, ParamsOf(options, order_, steps_)),
      metrics_(MakeMetrics(order_, impl.model)) {
  validation_order_.class_weights.clear();
  if (options.validation_split > 0) {
    validation_table_ = table_;
    validation_.by_number = true;
    validation_.begin = steps_.batches_per_epoch();
    validation_.end = steps_.split_end();
    validation_.shards =
        PiecesOf(validation_.end - validation_.begin, std::nullopt);
  } else if (options.validation_data) {
    validation_table_ = impl.coordinator.CreatePerWorkerResource(
        options.validation_data->table());
    validation_ =
        PlanEvaluation(impl.Count(*validation_table_), options.validation_steps,
                       std::nullopt, impl.coordinator.Status().workers);
  }
}

History FitRun::Run() {
  History history;
  impl_.stopping = false;
  impl_.resume_epoch = 0;
  impl_.progress = {};
  Logs none;
  Logs last;
  callbacks_.Call("OnTrainBegin", &Callback::OnTrainBegin, none);
  for (int epoch = std::max(options_.initial_epoch, impl_.resume_epoch);
       epoch < options_.epochs && !impl_.stopping && !ended_; ++epoch) {
    Logs begin;
    callbacks_.Call("OnEpochBegin", &Callback::OnEpochBegin, epoch, begin);
    std::optional<Logs> logs;
    try {
      logs = TrainEpoch(epoch);
    } catch (...) {
      Abandon();
      throw;
    }
    impl_.PublishIterations();
    if (!logs) break;
    Validate(epoch, *logs);
    callbacks_.Call("OnEpochEnd", &Callback::OnEpochEnd, epoch, *logs);
    history.Add(epoch, *logs);
    last = *logs;
  }
  if (ended_) WarnOfEnd();
  callbacks_.Call("OnTrainEnd", &Callback::OnTrainEnd, last);
  return history;
}

std::optional<Logs> FitRun::TrainEpoch(int epoch) {
  impl_.progress = {.epoch = epoch,
                    .batches_per_epoch = steps_.batches_per_epoch()};
  for (const std::unique_ptr<MetricState>& metric : metrics_) metric->Reset();
  next_ = 0;
  batch_logs_.clear();
  while (true) {
    Fill(epoch);
    if (pending_.empty()) break;
    Take();
  }
  // In synchronous training, for the last round.
  impl_.coordinator.Join();
  const StepReport& sum = impl_.progress.report;
  if (sum.batches == 0) return std::nullopt;
  return LogsOf(sum, order_, metrics_);
}

void FitRun::Fill(int epoch) {
  while (!impl_.stopping && !ended_ && next_ < steps_.batches_per_epoch() &&
         pending_.size() < window_) {
    // Workers come and go.
    if (scheduled_++ % kStepsBetweenLooks == 0) window_ = impl_.Window(window_);
    const std::int64_t batches = steps_.BatchesFrom(next_);
    pending_.push_back({steps_.Schedule(epoch, next_), next_ + batches - 1});
    next_ += batches;
  }
}

void FitRun::Take() {
  const Pending& oldest = pending_.front();
  const std::int64_t batch = oldest.last;
  // When an iterator has ended, what is behind it may have no batch.
  const bool announce = !ended_;
  if (announce) {
    callbacks_.Call("OnTrainBatchBegin", &Callback::OnTrainBatchBegin, batch,
                    batch_logs_);
  }
  const StepReport report = oldest.value.Fetch();
  pending_.pop_front();
  impl_.CountBatches(report.batches);
  AddReport(impl_.progress.report, metrics_, report);
  impl_.progress.batches += static_cast<std::int64_t>(report.batches);
  ended_ = ended_ || report.end_of_data;
  if (report.batches == 0) return;
  batch_logs_ = LogsOf(impl_.progress.report, order_, metrics_);
  callbacks_.Call("OnTrainBatchEnd", &Callback::OnTrainBatchEnd, batch,
                  batch_logs_);
}

void FitRun::Abandon() {
  try {
    // Before anybody waits for a step: those of later rounds do not run.
    impl_.coordinator.Join();
  } catch (...) {
    Drain();
    throw;
  }
  Drain();
}

void FitRun::Drain() noexcept {
  try {
    for (const Pending& step : pending_) {
      try {
        impl_.CountBatches(step.value.Fetch().batches);
      } catch (const Error&) {
        // It has failed or was called off, as is about to be said.
      }
    }
    pending_.clear();
    impl_.PublishIterations();
  } catch (const std::exception&) {
    // The failure that led here says more.
  }
}

void FitRun::Validate(int epoch, Logs& logs) {
  if (!validation_table_ || (epoch + 1) % options_.validation_freq != 0) {
    return;
  }
  const Logs found = RunEvaluation(impl_, *validation_table_, validation_,
                                   validation_order_, callbacks_);
  for (const auto& [name, value] : found) logs["val_" + name] = value;
}

void FitRun::WarnOfEnd() const {
  std::ostream& out = options_.terminal.warnings != nullptr
                          ? *options_.terminal.warnings
                          : std::cerr;
  out << fmt::format(
      "warning: the input of a worker ran out of data after {} batches in all, "
      "and the training ends. Each worker's dataset must give at least "
      "steps_per_epoch * epochs batches ({} here, for all workers together): "
      "repeat it, or leave out steps_per_epoch.\n",
      impl_.iterations, steps_.batches_per_epoch() * options_.epochs);
  out.flush();
}

History Trainer::Fit(const DatasetHandle& data, const FitOptions& options) {
  return FitRun(*this, *impl_, data, options).Run();
}

}  // namespace capstan
