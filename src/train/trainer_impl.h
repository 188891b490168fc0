// What a Trainer is made of.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "capstan/trainer.h"
#include "train/fit_record.h"
#include "train/model.h"

namespace capstan {

struct Trainer::Impl {
  Impl(ClusterCoordinator coordinator_in, const Model& model_in,
       TrainerOptions options_in);

  // The variable that counts batches.
  std::string IterationsName() const { return model.name() + "/iterations"; }
  // Counts batches trained on; Publish tells the servers.
  void CountBatches(std::uint64_t batches) {
    iterations += static_cast<std::int64_t>(batches);
  }
  void PublishIterations();

  // The key under which the servers keep this trainer's record.
  std::string RecordKey() const { return "trainer/" + model.name(); }
  // The record before the first Fit.
  FitRecord FirstRecord() const;
  void Publish(const FitRecord& record);
  // `record` for the job's record. Throws kResourceExhausted if there is no
  // room.
  PartText PartOf(const FitRecord& record) const;
  // Takes the counts, the shuffle seed and the learning rate from `record`,
  // which must be what the servers have.
  void AdoptRecord(const FitRecord& record);
  // Whether the program is repeating calls that an earlier coordinator made
  // before the interrupted Fit: what they set is older than what the servers
  // hold. If so, logs that `what` is skipped.
  bool PassesOver(std::string_view what);

  // How many elements a dataset has, as a worker sees it.
  DataCount Count(const Model::Impl::Table& table);
  // How many steps may be outstanding at once; `now` is the window so far.
  // Enough for the current workers but no more, because stopping the training
  // waits for these steps.
  std::size_t Window(std::size_t now);

  ClusterCoordinator coordinator;
  const Model model;
  TrainerOptions options;  // learning rate: the one in use
  const PerWorker<ReplicaPool> replicas;
  std::vector<ModelVariable> variables;
  std::vector<std::string> rate_follows;  // use the trainer's optimizer
  std::int64_t iterations = 0;
  std::uint64_t calls = 0;  // calls of Fit
  // The seed of Shuffles without one in tables that Fit reads: all workers must
  // see the same order, and a resumed Fit the order it had before.
  std::uint64_t shuffle_seed;
  bool stopping = false;
  int resume_epoch = 0;
  LearningRate first_rate;         // from the original options
  std::optional<double> rate_set;  // set by SetLearningRate
  // The record left by an earlier coordinator, a checkpoint or the last Fit.
  std::optional<FitRecord> left;
  // An earlier coordinator was restoring a checkpoint.
  bool was_restoring = false;
  FitRecord published;  // what the servers keep
  // While Fit runs: schedules the rest of a round that was started, because a
  // checkpoint is cut between rounds.
  std::function<void()> before_cut;
  // While Fit runs: its position, if no step is running.
  std::function<FitRecord()> cut_record;
  TrainProgress progress;
};

}  // namespace capstan
