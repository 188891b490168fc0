// One call of Fit.
//
// Where it is, is always known to the servers too, as a record that goes with
// the numbers of the steps that are over (coordinator/job_record.h): so a Fit
// whose coordinator was killed goes on in a new one with the first step that is
// not done. A checkpoint has the same record, of the moment it was cut.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "capstan/checkpoint.h"
#include "capstan/trainer.h"
#include "coordinator/closure/step_ledger.h"
#include "coordinator/coordinator_impl.h"
#include "train/callback/callback_list.h"
#include "train/evaluate/evaluation.h"
#include "train/fit/fit_steps.h"
#include "train/fit_record.h"
#include "train/trainer_impl.h"

namespace capstan {

// Not thread-safe.
class FitRun {
 public:
  // Throws kInvalidArgument for options that make no sense with the data.
  FitRun(Trainer& trainer, Trainer::Impl& impl, const DatasetHandle& data,
         const FitOptions& options);
  ~FitRun();
  FitRun(const FitRun&) = delete;
  FitRun& operator=(const FitRun&) = delete;

  History Run();

 private:
  using Steady = std::chrono::steady_clock;
  // What was scheduled and not yet reported.
  struct Pending {
    RemoteValue<StepReport> value;
    std::int64_t first = 0;  // its batches
    std::int64_t last = 0;
  };

  // --- fit_run.cc

  // From where it is to its end. Throws what a step or a callback throws.
  void RunEpochs();
  // What comes after the last.
  void End();
  // Trains the rest of the epoch; false if there was not a single batch.
  bool TrainEpoch();
  // Schedules as much as may be unfinished.
  void Fill();
  void ScheduleNext();
  // Waits for the oldest step, counts it and tells the callbacks.
  void Take();
  // When something has failed: waits for the steps that are unfinished and
  // counts those that have trained. Throws the error of one that has failed.
  void Abandon();
  // The error of a step with its epoch and batch, if it is one that is pending.
  Error WithPlace(const Error& error) const;
  void Drain() noexcept;
  void Validate(int epoch, Logs& logs);
  void WarnOfEnd() const;
  std::ostream& Warnings() const;

  // --- fit_resume.cc: where it begins, and where it is.

  // Finds out where to begin: where a coordinator before this one was, with
  // the newest checkpoint, or at the beginning. False if this call was over
  // then.
  bool Begin();
  // Says that it goes on, or is over; `from` is empty if the servers had it.
  void SayWhere(const std::string& from) const;
  // "epoch 2, batch 1 of 30"
  std::string Place() const;
  void GoTo(const FitRecord& record);
  // Throws kFailedPrecondition if it is in the middle of an epoch of other
  // data. `from` as above.
  void CheckSameData(const FitRecord& record, const std::string& from) const;
  // As it is now, without what is pending; and with what of that is done.
  FitRecord RecordNow() const;
  FitRecord RecordAtCut() const;
  // Numbers the steps of the rest of the epoch, and tells the servers.
  void OpenBlock();
  // The steps up to that of `batch` are in the record, if it is time to.
  void Account(std::int64_t batch);
  void CloseBlock();
  std::uint64_t StepOf(std::int64_t batch) const;
  // Steps in a round; 1 if there are none.
  std::int64_t Places() const;

  // --- fit_origin.cc: what a training of before has left in a checkpoint.

  // Restores it, if there is one and nobody has yet, and sets Impl::left to
  // what it says of this trainer, if anything. Returns its path, or nothing.
  std::string BeginWithCheckpoint();
  // The one of the directory.
  FitOrigin& FindOrigin();
  // Restores all of the job, or the model alone.
  void RestoreOrigin(FitOrigin& origin, bool all);
  // Tells the servers what the checkpoint says of this trainer, and if all was
  // restored, of the others and of the program, all at once.
  void AdoptRecords(const RestoreReport& report, bool all);

  // --- fit_checkpoints.cc

  void OpenCheckpoints();
  // Whether the newest checkpoint is of this call: one to go back to.
  bool HasCheckpointOfThisCall() const;
  // Saves if it is time to, at the end of an epoch or not. Whether it did.
  bool MaybeSave(bool end_of_epoch);
  // The last one, with all that callbacks have done in the end.
  void SaveAtEnd();
  // Waits for what is being written, and says what went wrong. Whether all is
  // well.
  bool AwaitSave();
  // Schedules the rest of a round that has begun.
  void FillRound();
  // Whether one is being written now.
  bool Save();
  void WarnOfSave(const Error& error) const;
  // At the end of an epoch, of which there is a checkpoint if `saved`: servers
  // that this has gone on without, and that are back, get their part again.
  void TakeBackServers(bool saved);
  // In a handler of an error, the `tries`th in a row: says which server is
  // lost, if that is what is wrong, and recovers; else throws it again. Returns
  // the servers that it goes on without.
  std::vector<std::string> RecoverFromError(int tries, bool restoring);
  std::vector<std::string> Recover();
  // After a server was lost: goes back to the newest checkpoint. False if that
  // is not what is wrong, or there is none.
  bool RollBack();
  // The part of it that is done again if a server is lost meanwhile: since
  // `begin`, with `had` iterations then, and the servers `without` left out.
  // False if the checkpoint is none of this call, or it leads nowhere.
  bool GoBack(Steady::time_point begin, std::int64_t had,
              const std::vector<std::string>& without);
  Steady::time_point TimeOfCut(const std::string& name) const;
  // The newest one; says which were passed over.
  RestoreReport RestoreNewest(const RestoreOptions& options);

  Trainer& trainer_;
  Trainer::Impl& impl_;
  const FitOptions& options_;
  const StepConfig order_;
  const Model::Impl::Table table_;
  FitSteps steps_;
  // Of validation, if there is any.
  std::optional<Model::Impl::Table> validation_table_;
  EvaluationPlan validation_;
  StepConfig validation_order_;
  CallbackList callbacks_;
  const std::vector<std::unique_ptr<MetricState>> metrics_;

  // Where it is.
  bool done_ = false;
  int epoch_ = 0;
  std::int64_t batch_ = 0;  // the next that is to be reported
  History history_;
  // Of callbacks, when it was left.
  std::vector<std::pair<std::string, std::string>> left_states_;
  // Of callbacks, before the hook that they are in: where it is has not changed
  // yet either.
  std::optional<std::vector<std::pair<std::string, std::string>>>
      states_before_;
  std::optional<StepBlock> block_;
  std::int64_t block_batch_ = 0;
  Steady::time_point accounted_;

  std::size_t window_ = 1;       // how many may be unfinished
  std::uint64_t scheduled_ = 0;  // steps
  std::deque<Pending> pending_;
  std::int64_t next_ = 0;  // batch to schedule
  bool ended_ = false;     // an iterator has
  Logs batch_logs_;
  Logs last_logs_;

  FitCheckpoint checkpoint_;
  bool remove_backups_ = false;
  std::unique_ptr<CheckpointManager> manager_;
  std::int64_t saved_at_ = 0;  // iterations
  Steady::time_point saved_time_;
  Steady::time_point began_;
  // The last checkpoints, and when they were cut.
  std::deque<std::pair<std::string, Steady::time_point>> cuts_;
  int rollbacks_ = 0;  // to the same place, one after the other
  std::int64_t rolled_back_to_ = -1;
};

}  // namespace capstan
