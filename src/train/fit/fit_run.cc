#include "train/fit/fit_run.h"

#include <fmt/format.h>

#include <iostream>

#include "capstan/error.h"
#include "train/callback/terminal.h"
#include "train/fit/check_fit_options.h"
#include "train/step_config.h"
#include "train/step_report.h"

namespace capstan {
namespace {

constexpr std::uint64_t kStepsBetweenLooks = 64;

StepConfig OrderOf(Trainer::Impl& trainer, const FitOptions& options) {
  CheckFitOptions(options, trainer.options.update);
  StepConfig order;
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

CallbackParams ParamsOf(const FitOptions& options, const StepConfig& order,
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
    : trainer_(trainer),
      impl_(impl),
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
  OpenCheckpoints();
}

FitRun::~FitRun() {
  impl_.before_cut = nullptr;
  impl_.cut_record = nullptr;
}

std::ostream& FitRun::Warnings() const {
  return options_.terminal.warnings != nullptr ? *options_.terminal.warnings
                                               : std::cerr;
}

History FitRun::Run() {
  impl_.stopping = false;
  impl_.resume_epoch = 0;
  impl_.progress = {};
  if (!Begin()) return history_;
  impl_.before_cut = [this] { FillRound(); };
  impl_.cut_record = [this] { return RecordAtCut(); };
  Logs none;
  callbacks_.Call("OnTrainBegin", &Callback::OnTrainBegin, none);
  callbacks_.SetStates(left_states_);
  // A callback may have restored a later position.
  if (impl_.resume_epoch > epoch_) {
    epoch_ = impl_.resume_epoch;
    batch_ = 0;
    impl_.progress = {};
  }
  if (manager_ != nullptr && !HasCheckpointOfThisCall()) Save();
  bool over = false;
  while (!over) {
    try {
      RunEpochs();
      End();
      over = true;
    } catch (...) {
      if (!RollBack()) throw;
    }
  }
  return history_;
}

void FitRun::End() {
  if (ended_) WarnOfEnd();
  callbacks_.Call("OnTrainEnd", &Callback::OnTrainEnd, last_logs_);
  done_ = true;
  const FitRecord record = RecordNow();
  impl_.Publish(record);
  if (manager_ != nullptr) SaveAtEnd();
  // Encoded and decoded, to bound its size as on the servers.
  impl_.left = DecodeFitRecord(EncodeFitRecord(record));
}

void FitRun::RunEpochs() {
  while (epoch_ < options_.epochs && !impl_.stopping && !ended_) {
    const int epoch = epoch_;
    Logs begin;
    callbacks_.Call("OnEpochBegin", &Callback::OnEpochBegin, epoch, begin);
    bool any = false;
    try {
      any = TrainEpoch();
    } catch (const Error& error) {
      const Error placed = WithPlace(error);
      Abandon();
      throw placed;
    } catch (...) {
      Abandon();
      throw;
    }
    impl_.PublishIterations();
    if (!any) break;
    Logs logs = LogsOf(impl_.progress.report, order_, metrics_);
    Validate(epoch, logs);
    states_before_ = callbacks_.States();
    callbacks_.Call("OnEpochEnd", &Callback::OnEpochEnd, epoch, logs);
    states_before_.reset();
    history_.Add(epoch, logs);
    last_logs_ = logs;
    ++epoch_;
    batch_ = 0;
    impl_.progress = {.epoch = epoch_,
                      .batches_per_epoch = steps_.batches_per_epoch()};
    for (const std::unique_ptr<MetricState>& metric : metrics_) {
      metric->Reset();
    }
    impl_.Publish(RecordNow());
    const bool saved = MaybeSave(true);
    TakeBackServers(saved);
  }
}

bool FitRun::TrainEpoch() {
  impl_.progress.epoch = epoch_;
  impl_.progress.batches_per_epoch = steps_.batches_per_epoch();
  next_ = batch_;
  batch_logs_.clear();
  while (next_ < steps_.batches_per_epoch() && !impl_.stopping && !ended_) {
    OpenBlock();
    for (Fill(); !pending_.empty(); Fill()) {
      Take();
      MaybeSave(false);
    }
    // In synchronous training, waits for the last round.
    impl_.coordinator.Join();
    CloseBlock();
  }
  return impl_.progress.report.batches != 0;
}

void FitRun::ScheduleNext() {
  const std::int64_t batches = steps_.BatchesFrom(next_);
  pending_.push_back(
      {steps_.Schedule(StepOf(next_), epoch_, next_,
                       steps_.SeedOf(impl_.shuffle_seed, order_.call)),
       next_, next_ + batches - 1});
  next_ += batches;
}

void FitRun::Fill() {
  while (!impl_.stopping && !ended_ && next_ < steps_.batches_per_epoch() &&
         StepOf(next_) < block_->end() && pending_.size() < window_) {
    // Workers come and go.
    if (scheduled_++ % kStepsBetweenLooks == 0) window_ = impl_.Window(window_);
    ScheduleNext();
  }
}

void FitRun::Take() {
  const Pending& oldest = pending_.front();
  const std::int64_t batch = oldest.last;
  // After an iterator has ended, later steps may have no batch.
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
  batch_ = batch + 1;
  Account(batch);
  if (report.batches == 0) return;
  batch_logs_ = LogsOf(impl_.progress.report, order_, metrics_);
  callbacks_.Call("OnTrainBatchEnd", &Callback::OnTrainBatchEnd, batch,
                  batch_logs_);
}

void FitRun::Abandon() {
  try {
    // Join before waiting for any single step, because steps of later rounds do
    // not run.
    impl_.coordinator.Join();
  } catch (const Error& error) {
    const Error placed = WithPlace(error);
    Drain();
    throw placed;
  }
  Drain();
}

Error FitRun::WithPlace(const Error& error) const {
  for (const Pending& step : pending_) {
    if (!step.value.Ready()) continue;
    try {
      step.value.Fetch();
    } catch (const Error& of_step) {
      // A joint error of several steps begins with one step's message.
      if (!error.message().starts_with(of_step.message())) continue;
      const std::string batches =
          step.first == step.last
              ? fmt::format("batch {}", step.last + 1)
              : fmt::format("batches {}-{}", step.first + 1, step.last + 1);
      return Error(
          error.code(),
          fmt::format("epoch {}/{}, {}/{}: {}", epoch_ + 1, options_.epochs,
                      batches, steps_.batches_per_epoch(), error.message()),
          error.task());
    }
  }
  return error;
}

void FitRun::Drain() noexcept {
  try {
    for (const Pending& step : pending_) {
      try {
        impl_.CountBatches(step.value.Fetch().batches);
      } catch (const Error&) {
        // The step failed or was cancelled, which is about to be reported.
      }
    }
    pending_.clear();
    CloseBlock();
    // With a lost server, this would block for the whole timeout of an update.
    if (!impl_.coordinator.LostServer()) impl_.PublishIterations();
  } catch (const std::exception&) {
    // The failure that led here is more informative.
  }
}

void FitRun::Validate(int epoch, Logs& logs) {
  if (!validation_table_ || (epoch + 1) % options_.validation_freq != 0) {
    return;
  }
  // A split must use the same order as the training.
  if (options_.validation_split > 0) validation_.seed = impl_.shuffle_seed;
  const Logs found = RunEvaluation(impl_, *validation_table_, validation_,
                                   validation_order_, callbacks_);
  for (const auto& [name, value] : found) logs["val_" + name] = value;
}

void FitRun::WarnOfEnd() const {
  Warnings() << fmt::format(
      "warning: the input of a worker ran out of data after {} batches in all, "
      "and the training ends. Each worker's dataset must give at least "
      "steps_per_epoch * epochs batches ({} here, for all workers together): "
      "repeat it, or leave out steps_per_epoch.\n",
      impl_.iterations, steps_.batches_per_epoch() * options_.epochs);
  Warnings().flush();
}

History Trainer::Fit(const DatasetHandle& data, const FitOptions& options) {
  return FitRun(*this, *impl_, data, options).Run();
}

}  // namespace capstan
