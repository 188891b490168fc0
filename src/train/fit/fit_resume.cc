// Where a Fit begins, and how it records its position.
#include <fmt/format.h>

#include <algorithm>

#include "base/async/run_on.h"
#include "base/error.h"
#include "coordinator/coordinator_impl.h"
#include "train/fit/fit_run.h"
#include "train/step_report.h"

namespace capstan {
namespace {

// The most steps reserved at once; a multiple of all usual numbers of replicas.
constexpr std::int64_t kMostInBlock = std::int64_t{1} << 20;

// How often the position is recorded. Steps done since then are repeated after
// a failure.
constexpr std::chrono::milliseconds kAccountEvery(50);

std::string DescribeData(std::int64_t batches, const std::string& data) {
  return data.empty()
             ? fmt::format("steps_per_epoch = {}", batches)
             : fmt::format("{} batches per epoch of {}", batches, data);
}

}  // namespace

bool FitRun::Begin() {
  const std::uint64_t call = order_.call;
  epoch_ = options_.initial_epoch;
  std::string from;
  if (!impl_.left) from = BeginWithCheckpoint();
  CoordinatorMaker::ImplOf(impl_.coordinator)->origins.begun = true;
  if (!impl_.left || impl_.left->call < call) return true;
  const FitRecord& left = *impl_.left;
  if (left.call > call) {
    const auto past = left.past.find(call);
    if (past != left.past.end()) history_ = past->second;
    return false;
  }
  GoTo(left);
  // Done, unless more epochs are requested now than before.
  if (left.done && options_.epochs <= left.epochs) {
    SayWhere(from);
    return false;
  }
  if (from.empty()) {
    const auto coordinator_impl = CoordinatorMaker::ImplOf(impl_.coordinator);
    block_ = coordinator_impl->dispatcher.variables().records().FindBlock(
        impl_.RecordKey());
    block_batch_ = left.block_batch;
    // With another value, the step numbers would stand for other batches.
    if (block_ && left.steps_per_execution != options_.steps_per_execution) {
      throw Error(
          ErrorCode::kFailedPrecondition,
          fmt::format("Fit of '{}' was cut off with steps_per_execution = {}, "
                      "and cannot go on with {}: set it as it was",
                      impl_.model.name(), left.steps_per_execution,
                      options_.steps_per_execution));
    }
  }
  CheckSameData(left, from);
  SayWhere(from);
  return true;
}

void FitRun::CheckSameData(const FitRecord& record,
                           const std::string& from) const {
  // Between two epochs, any data will do unless steps of the next epoch may
  // have run.
  if ((record.batch == 0 && !block_) || epoch_ >= options_.epochs) return;
  const std::int64_t batches = steps_.batches_per_epoch();
  const bool same = record.batches_per_epoch
                        ? *record.batches_per_epoch == batches &&
                              record.data == steps_.description()
                        : record.batch <= batches;
  if (same) return;
  throw Error(
      ErrorCode::kFailedPrecondition,
      fmt::format(
          "Fit of '{}' was interrupted in epoch {} after {} batches, with {}, "
          "and cannot resume there with {}: the numbers of batches would stand "
          "for other examples. Give it the dataset and batch size it had, or, "
          "to train from scratch, {}",
          impl_.model.name(), record.epoch + 1, record.batch,
          record.batches_per_epoch
              ? DescribeData(*record.batches_per_epoch, record.data)
              : "more batches per epoch",
          DescribeData(batches, steps_.description()),
          from.empty() ? "restart the servers or set "
                         "CoordinatorOptions::attach to false"
                       : "use another checkpoint directory than " + from));
}

void FitRun::SayWhere(const std::string& from) const {
  if (options_.verbose == Verbose::kSilent) return;
  const std::string where = from.empty()
                                ? "the servers have all that was done before"
                                : "from " + from;
  if (epoch_ >= options_.epochs) {
    Warnings() << fmt::format(
        "{}: all {} epochs are done: {}\n", impl_.model.name(), options_.epochs,
        from.empty() ? "the servers have them" : "in " + from);
  } else if (impl_.stopping) {
    Warnings() << fmt::format(
        "{}: was stopped after epoch {} of {}: {}; more epochs than that, or "
        "another directory, make it train on\n",
        impl_.model.name(), epoch_, options_.epochs, where);
  } else {
    Warnings() << fmt::format(
        "{}: resuming at {} ({} batches trained): {}{}\n", impl_.model.name(),
        Place(), impl_.iterations, where,
        steps_.by_number() ? ""
                           : "; with steps_per_epoch the workers read their "
                             "data from its beginning");
  }
  Warnings().flush();
}

std::string FitRun::Place() const {
  const std::int64_t batches = steps_.batches_per_epoch();
  return batch_ < batches ? fmt::format("epoch {}, batch {} of {}", epoch_ + 1,
                                        batch_ + 1, batches)
                          : fmt::format("the end of epoch {}", epoch_ + 1);
}

void FitRun::GoTo(const FitRecord& record) {
  done_ = false;
  ended_ = false;
  impl_.stopping = record.stopped && options_.epochs <= record.epochs;
  epoch_ = record.epoch;
  batch_ = record.batch;
  history_ = record.history;
  impl_.progress = {.epoch = epoch_,
                    .batches = static_cast<std::int64_t>(record.report.batches),
                    .batches_per_epoch = steps_.batches_per_epoch(),
                    .report = record.report};
  for (size_t i = 0; i < metrics_.size(); ++i) {
    metrics_[i]->Reset();
    if (i < record.report.metric_states.size()) {
      metrics_[i]->Merge(record.report.metric_states[i]);
    }
  }
  impl_.progress.report.metric_states.clear();
  left_states_ = record.callbacks;
  callbacks_.SetStates(left_states_);
}

FitRecord FitRun::RecordNow() const {
  FitRecord record;
  record.call = order_.call;
  record.done = done_;
  // If stopped in the middle of an epoch, the end of the epoch is still to be
  // done.
  record.stopped = batch_ == 0 && (impl_.stopping || ended_);
  record.epochs = options_.epochs;
  record.epoch = epoch_;
  record.batch = batch_;
  record.batches_per_epoch = steps_.batches_per_epoch();
  record.data = steps_.description();
  record.block_batch = block_ ? block_batch_ : batch_;
  record.steps_per_execution = options_.steps_per_execution;
  record.iterations = impl_.iterations;
  record.shuffle_seed = impl_.shuffle_seed;
  record.learning_rate = impl_.rate_set;
  record.report = impl_.progress.report;
  TakeStates(metrics_, record.report);
  record.history = history_;
  record.callbacks = states_before_ ? *states_before_ : callbacks_.States();
  if (impl_.left) {
    record.past = impl_.left->past;
    if (impl_.left->call < order_.call) {
      record.past[impl_.left->call] = impl_.left->history;
    }
  }
  return record;
}

FitRecord FitRun::RecordAtCut() const {
  FitRecord record = RecordNow();
  const std::vector<std::unique_ptr<MetricState>> metrics =
      MakeMetrics(order_, impl_.model);
  for (size_t i = 0; i < metrics.size(); ++i) {
    metrics[i]->Merge(metrics_[i]->State());
  }
  for (const Pending& step : pending_) {
    if (!step.value.Ready()) break;
    const StepReport report = step.value.Fetch();
    AddReport(record.report, metrics, report);
    record.batch = step.last + 1;
    record.iterations += static_cast<std::int64_t>(report.batches);
  }
  record.block_batch = record.batch;
  TakeStates(metrics, record.report);
  return record;
}

std::int64_t FitRun::Places() const {
  if (const auto* sync = std::get_if<Sync>(&order_.update)) {
    return sync->replicas + sync->backup;
  }
  const auto* bounded = std::get_if<BoundedStaleness>(&order_.update);
  return bounded != nullptr ? bounded->replicas : 1;
}

std::uint64_t FitRun::StepOf(std::int64_t batch) const {
  const std::int64_t each = options_.steps_per_execution;
  return block_->first +
         static_cast<std::uint64_t>((batch - block_batch_ + each - 1) / each);
}

void FitRun::OpenBlock() {
  // An earlier coordinator opened it.
  if (block_) return;
  const std::int64_t each = options_.steps_per_execution;
  const std::int64_t left =
      (steps_.batches_per_epoch() - next_ + each - 1) / each;
  const std::int64_t most = kMostInBlock / Places() * Places();
  const auto coordinator_impl = CoordinatorMaker::ImplOf(impl_.coordinator);
  Dispatcher& dispatcher = coordinator_impl->dispatcher;
  // Keys would hold back the watermark, and with it this training's record.
  ThrowIfError(dispatcher.queue().CheckNoKeyScheduled());
  ThrowIfError(dispatcher.queue().CheckNoPartialKey());
  block_batch_ = next_;
  block_ = dispatcher.queue().Reserve(
      static_cast<std::uint64_t>(std::min(left, most)));
  dispatcher.variables().records().OpenBlock(impl_.RecordKey(), *block_,
                                             impl_.PartOf(RecordNow()));
  // Publish before any of its steps can be applied.
  ThrowIfError(RunOn(coordinator_impl->executor, dispatcher.Publish()));
  accounted_ = Steady::now();
}

void FitRun::Account(std::int64_t batch) {
  const std::int64_t steps =
      (batch - block_batch_) / options_.steps_per_execution + 1;
  // The steps of a round finish together with the round.
  if (steps % Places() != 0 || Steady::now() - accounted_ < kAccountEvery) {
    return;
  }
  const auto coordinator_impl = CoordinatorMaker::ImplOf(impl_.coordinator);
  const std::uint64_t step =
      block_->first + static_cast<std::uint64_t>(steps) - 1;
  coordinator_impl->dispatcher.variables().records().Account(
      impl_.RecordKey(), impl_.PartOf(RecordNow()), step);
  accounted_ = Steady::now();
}

void FitRun::CloseBlock() {
  if (!block_) return;
  const auto coordinator_impl = CoordinatorMaker::ImplOf(impl_.coordinator);
  const std::uint64_t first_left = StepOf(next_);
  const StepBlock block = *block_;
  block_.reset();
  coordinator_impl->dispatcher.variables().records().CloseBlock(
      impl_.RecordKey(), impl_.PartOf(RecordNow()));
  coordinator_impl->dispatcher.queue().EndBlock(block, first_left);
}

}  // namespace capstan
