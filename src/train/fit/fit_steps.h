// The steps of Fit: where their batches come from, and how they are scheduled.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "capstan/trainer.h"
#include "train/trainer_impl.h"

namespace capstan {

// Not thread-safe.
class FitSteps {
 public:
  // Finds out how much data there is. `table` is that of `data`. Throws
  // kInvalidArgument, saying what to do, if that is not known and there is no
  // steps_per_epoch, or if nothing is left to train on or to validate with.
  FitSteps(Trainer::Impl& trainer, const DatasetHandle& data,
           const Model::Impl::Table& table, const FitOptions& options,
           std::string order);

  // Whether batches are read by their number, so that each is found again.
  bool by_number() const { return !iterators_; }
  // What their numbers stand for; empty if they have none.
  const std::string& description() const { return description_; }
  // Batches in an epoch, if none is missing.
  std::int64_t batches_per_epoch() const { return batches_; }
  // The elements that validation_split has set aside: [batches_per_epoch(),
  // this).
  std::int64_t split_end() const { return split_end_; }

  // Of shuffles that have none: `drawn`, or for a Fit of all elements one that
  // is its `call`'s own, so that no two calls have the same orders.
  std::uint64_t SeedOf(std::uint64_t drawn, std::uint64_t call) const;

  // Schedules the batches from `first` on of an epoch; at most
  // steps_per_execution of them, in one step.
  // As the step `step`, which is reserved; `seed` as of SeedOf.
  RemoteValue<StepReport> Schedule(std::uint64_t step, int epoch,
                                   std::int64_t first, std::uint64_t seed);
  // How many those are.
  std::int64_t BatchesFrom(std::int64_t first) const;

 private:
  Trainer::Impl& trainer_;
  const Model::Impl::Table table_;
  const std::string order_;
  const std::int64_t per_execution_;
  std::string description_;
  std::int64_t batches_ = 0;
  std::int64_t split_end_ = 0;
  // Unset: batches are read by number.
  std::optional<Model::Impl::Batches> iterators_;
};

}  // namespace capstan
