#include "train/fit/fit_steps.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/random.h"
#include "capstan/error.h"

namespace capstan {
namespace {

[[noreturn]] void RefuseFit(const std::string& why) {
  throw Error(ErrorCode::kInvalidArgument, "Fit: " + why);
}

}  // namespace

FitSteps::FitSteps(Trainer::Impl& trainer, const DatasetHandle& data,
                   const Model::Impl::Table& table, const FitOptions& options,
                   std::string order)
    : trainer_(trainer),
      table_(table),
      order_(std::move(order)),
      per_execution_(options.steps_per_execution) {
  if (options.steps_per_epoch) {
    batches_ = *options.steps_per_epoch;
    iterators_ = trainer_.coordinator.CreatePerWorkerResource(data.iterator());
    return;
  }
  const DataCount count = trainer_.Count(table_);
  if (!count.size) {
    RefuseFit(absl::StrCat(
        "the dataset has no elements that can be counted (", count.obstacle,
        "), so it is not known where an epoch ends: set steps_per_epoch",
        options.validation_split > 0 ? ", and validation_data in place of "
                                       "validation_split"
                                     : ""));
  }
  description_ = count.description;
  split_end_ = *count.size;
  batches_ = static_cast<std::int64_t>(std::floor(
      static_cast<double>(*count.size) * (1 - options.validation_split)));
  if (*count.size == 0) RefuseFit("the dataset is empty");
  if (batches_ == 0 ||
      (options.validation_split > 0 && batches_ == split_end_)) {
    RefuseFit(absl::StrCat(
        "validation_split ", options.validation_split, " of ", *count.size,
        " batches leaves nothing to ", batches_ == 0 ? "train on" : "validate",
        ": batches are not split, so use smaller ones, or another fraction"));
  }
}

std::int64_t FitSteps::BatchesFrom(std::int64_t first) const {
  return std::min(per_execution_, batches_ - first);
}

std::uint64_t FitSteps::SeedOf(std::uint64_t drawn, std::uint64_t call) const {
  // The elements set aside for validation must be the same in all calls. Older
  // records, from before seeds were drawn, have 0 for all calls.
  if (drawn == 0 || batches_ != split_end_) return drawn;
  return RandomBitsAt(drawn, call)[0];
}

RemoteValue<StepReport> FitSteps::Schedule(std::uint64_t step, int epoch,
                                           std::int64_t first,
                                           std::uint64_t seed) {
  const Model::Impl& model = trainer_.model.impl();
  const std::int64_t batches = BatchesFrom(first);
  if (iterators_) {
    return trainer_.coordinator.ScheduleAs(
        step, model.train, trainer_.replicas, *iterators_,
        static_cast<std::uint64_t>(batches), order_);
  }
  DataRange range;
  range.begin = first;
  range.end = first + batches;
  // If elements are set aside for validation, each epoch must train on the same
  // ones.
  range.epoch = batches_ == split_end_ ? static_cast<std::uint64_t>(epoch) : 0;
  range.index = static_cast<std::uint64_t>(first / per_execution_);
  return trainer_.coordinator.ScheduleAs(
      step, model.train_range, trainer_.replicas, table_, range, seed, order_);
}

}  // namespace capstan
