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
  // Counts batches that were trained on; Publish tells the servers.
  void CountBatches(std::uint64_t batches) {
    iterations += static_cast<std::int64_t>(batches);
  }
  void PublishIterations();

  // Under which the servers keep where it is.
  std::string RecordKey() const { return "trainer/" + model.name(); }
  // Before the first Fit.
  FitRecord FirstRecord() const;
  void Publish(const FitRecord& record);
  // It for the job's record. Throws kResourceExhausted if there is no room.
  PartText PartOf(const FitRecord& record) const;
  // The counts and the learning rate are those of `record`, which is what the
  // servers have.
  void AdoptRecord(const FitRecord& record);
  // Whether the body of the program does again what a coordinator before this
  // one has done, before the Fit that was cut off: what it sets there is older
  // than what the servers hold. Says that `what` is passed over, if so.
  bool PassesOver(std::string_view what);

  // How many elements a dataset has, as a worker sees it.
  DataCount Count(const Model::Impl::Table& table);
  // How many steps to have handed out at once, after `now` so far: enough for
  // the workers that there are, and no more than that, as a training that is
  // to stop waits for them.
  std::size_t Window(std::size_t now);

  ClusterCoordinator coordinator;
  const Model model;
  TrainerOptions options;  // the learning rate is the one in use
  const PerWorker<ReplicaPool> replicas;
  std::vector<ModelVariable> variables;
  std::vector<std::string> rate_follows;  // those with the trainer's optimizer
  std::int64_t iterations = 0;
  std::uint64_t calls = 0;  // of Fit
  // Of Shuffles without one, in tables that Fit reads: all workers must have
  // the same order, and one that goes on the order of before.
  std::uint64_t shuffle_seed;
  bool stopping = false;
  int resume_epoch = 0;
  LearningRate first_rate;         // of the options that it was made with
  std::optional<double> rate_set;  // by SetLearningRate
  // What a coordinator before this one, a checkpoint or the last Fit has left.
  std::optional<FitRecord> left;
  // A coordinator before this one was restoring a checkpoint.
  bool was_restoring = false;
  FitRecord published;  // what the servers keep
  // While Fit runs: schedules the rest of a round that has begun, as a
  // checkpoint is cut between rounds.
  std::function<void()> before_cut;
  // And where it is, if nothing is under way.
  std::function<FitRecord()> cut_record;
  TrainProgress progress;
};

}  // namespace capstan
