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
  // Determines the amount of data. `table` is that of `data`. Throws
  // kInvalidArgument, saying what to do, if the amount is unknown and
  // steps_per_epoch is not set, or if nothing is left to train on or to
  // validate with.
  FitSteps(Trainer::Impl& trainer, const DatasetHandle& data,
           const Model::Impl::Table& table, const FitOptions& options,
           std::string order);

  // Whether batches are read by number, so that each can be found again.
  bool by_number() const { return !iterators_; }
  // What the batch numbers stand for; empty if batches have none.
  const std::string& description() const { return description_; }
  // Batches in a full epoch.
  std::int64_t batches_per_epoch() const { return batches_; }
  // validation_split sets aside the elements [batches_per_epoch(),
  // split_end()).
  std::int64_t split_end() const { return split_end_; }

  // The seed of shuffles that have none of their own: `drawn` or, for a Fit on
  // all elements, one specific to its `call`, so that no two calls use the same
  // orders.
  std::uint64_t SeedOf(std::uint64_t drawn, std::uint64_t call) const;

  // Schedules the batches of an epoch from `first`, at most steps_per_execution
  // of them, as step `step`, which must be reserved; `seed` is from SeedOf.
  RemoteValue<StepReport> Schedule(std::uint64_t step, int epoch,
                                   std::int64_t first, std::uint64_t seed);
  // The number of batches that Schedule would put in the step at `first`.
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
