// One call of Fit.
//
// The servers always know the position of the Fit, from a record that is sent
// together with the numbers of the finished steps (coordinator/job_record.h). A
// Fit whose coordinator was killed therefore resumes in a new one with the
// first unfinished step. A checkpoint has the same record, as of the moment it
// was cut.
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
  // Throws kInvalidArgument for options that do not fit the data.
  FitRun(Trainer& trainer, Trainer::Impl& impl, const DatasetHandle& data,
         const FitOptions& options);
  ~FitRun();
  FitRun(const FitRun&) = delete;
  FitRun& operator=(const FitRun&) = delete;

  History Run();

 private:
  using Steady = std::chrono::steady_clock;
  // A step that was scheduled and not yet reported.
  struct Pending {
    RemoteValue<StepReport> value;
    std::int64_t first = 0;  // first and last batch
    std::int64_t last = 0;
  };

  // --- fit_run.cc

  // Runs from the current position to the end. Throws what a step or a callback
  // throws.
  void RunEpochs();
  // What to do after the last epoch.
  void End();
  // Trains the rest of the epoch; false if there was not a single batch.
  bool TrainEpoch();
  // Schedules steps until the window is full.
  void Fill();
  void ScheduleNext();
  // Waits for the oldest step, counts it and tells the callbacks.
  void Take();
  // After a failure: waits for the unfinished steps and counts those that
  // trained. Throws the error of a failed step, if any.
  void Abandon();
  // `error` with epoch and batch added, if it is the error of a pending step.
  Error WithPlace(const Error& error) const;
  void Drain() noexcept;
  void Validate(int epoch, Logs& logs);
  void WarnOfEnd() const;
  std::ostream& Warnings() const;

  // --- fit_resume.cc: where to begin, and the current position.

  // Finds out where to begin: where an earlier coordinator was, from the newest
  // checkpoint, or at the beginning. False if this call had already finished.
  bool Begin();
  // Reports that the Fit resumes or is already done; `from` is empty if the
  // servers had the position.
  void SayWhere(const std::string& from) const;
  // "epoch 2, batch 1 of 30"
  std::string Place() const;
  void GoTo(const FitRecord& record);
  // Throws kFailedPrecondition if `record` is in the middle of an epoch of
  // other data. `from` as above.
  void CheckSameData(const FitRecord& record, const std::string& from) const;
  // The current position: without pending steps, and with those of them that
  // are done.
  FitRecord RecordNow() const;
  FitRecord RecordAtCut() const;
  // Reserves step numbers for the rest of the epoch and tells the servers.
  void OpenBlock();
  // Records the steps up to that of `batch`, if an update of the record is due.
  void Account(std::int64_t batch);
  void CloseBlock();
  std::uint64_t StepOf(std::int64_t batch) const;
  // Steps per round; 1 if there are no rounds.
  std::int64_t Places() const;

  // --- fit_origin.cc: the checkpoint that an earlier training left.

  // Restores the checkpoint, if there is one and it was not restored yet, and
  // sets Impl::left to its record of this trainer, if any. Returns its path, or
  // "".
  std::string BeginWithCheckpoint();
  // The origin of the directory.
  FitOrigin& FindOrigin();
  // Restores the whole job, or only this model.
  void RestoreOrigin(FitOrigin& origin, bool all);
  // Gives the servers the checkpoint's record of this trainer and, if the whole
  // job was restored, those of the other trainers and of the program, all at
  // once.
  void AdoptRecords(const RestoreReport& report, bool all);

  // --- fit_checkpoints.cc

  void OpenCheckpoints();
  // Whether the newest checkpoint is from this call, so that it can be rolled
  // back to.
  bool HasCheckpointOfThisCall() const;
  // Saves if a checkpoint is due, at the end of an epoch or within one. Returns
  // whether it did.
  bool MaybeSave(bool end_of_epoch);
  // Saves the last checkpoint, including what callbacks did in OnTrainEnd.
  void SaveAtEnd();
  // Waits for the checkpoint being written and warns if that fails. Returns
  // whether it succeeded.
  bool AwaitSave();
  // Schedules the rest of a round that was started.
  void FillRound();
  // Starts to save a checkpoint. Returns whether it could be started.
  bool Save();
  void WarnOfSave(const Error& error) const;
  // At the end of an epoch: gives servers that came back, after the Fit had
  // continued without them, their part of the variables again. `saved`: a
  // checkpoint of this epoch exists.
  void TakeBackServers(bool saved);
  // Call in a handler of an error, the `tries`th in a row. If the cause is a
  // lost server, reports which one and recovers; otherwise rethrows. Returns
  // the servers that the Fit continues without.
  std::vector<std::string> RecoverFromError(int tries, bool restoring);
  std::vector<std::string> Recover();
  // After a server was lost: goes back to the newest checkpoint. False if no
  // server was lost, or there is no checkpoint of this call.
  bool RollBack();
  // The part of RollBack that is repeated if a server is lost meanwhile. The
  // rollback started at `begin`, after `had` iterations, and leaves out the
  // servers `without`. False if the checkpoint is not from this call, or
  // repeated rollbacks make no progress.
  bool GoBack(Steady::time_point begin, std::int64_t had,
              const std::vector<std::string>& without);
  Steady::time_point TimeOfCut(const std::string& name) const;
  // Restores the newest readable checkpoint; warns about damaged ones skipped.
  RestoreReport RestoreNewest(const RestoreOptions& options);

  Trainer& trainer_;
  Trainer::Impl& impl_;
  const FitOptions& options_;
  const StepConfig order_;
  const Model::Impl::Table table_;
  FitSteps steps_;
  // Validation, if enabled.
  std::optional<Model::Impl::Table> validation_table_;
  EvaluationPlan validation_;
  StepConfig validation_order_;
  CallbackList callbacks_;
  const std::vector<std::unique_ptr<MetricState>> metrics_;

  // The current position.
  bool done_ = false;
  int epoch_ = 0;
  std::int64_t batch_ = 0;  // next to be reported
  History history_;
  // The states of callbacks in the record that was resumed from.
  std::vector<std::pair<std::string, std::string>> left_states_;
  // While callbacks are in a hook: their states before it, which go with the
  // position, because that has not advanced yet either.
  std::optional<std::vector<std::pair<std::string, std::string>>>
      states_before_;
  std::optional<StepBlock> block_;
  std::int64_t block_batch_ = 0;
  Steady::time_point accounted_;

  std::size_t window_ = 1;       // limit on unfinished steps
  std::uint64_t scheduled_ = 0;  // steps
  std::deque<Pending> pending_;
  std::int64_t next_ = 0;  // next batch to schedule
  bool ended_ = false;     // an iterator ran out of data
  Logs batch_logs_;
  Logs last_logs_;

  FitCheckpoint checkpoint_;
  bool remove_backups_ = false;
  std::unique_ptr<CheckpointManager> manager_;
  std::int64_t saved_at_ = 0;  // iterations
  Steady::time_point saved_time_;
  Steady::time_point began_;
  // The latest checkpoints and when they were cut.
  std::deque<std::pair<std::string, Steady::time_point>> cuts_;
  int rollbacks_ = 0;  // consecutive ones to the same position
  std::int64_t rolled_back_to_ = -1;
};

}  // namespace capstan
