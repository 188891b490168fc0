// When a Fit saves, and how it goes back to what was saved.
#include <fmt/format.h>

#include <thread>

#include "base/error.h"
#include "coordinator/front.h"
#include "train/fit_run.h"

namespace capstan {
namespace {

// How long a server may be gone before anybody notices; see membership/.
constexpr std::chrono::seconds kNotice(10);
constexpr std::chrono::milliseconds kLook(50);

// A server that is lost again and again without a batch in between.
constexpr int kMostRollbacks = 10;

// Whether an error may be that of a lost server.
bool MayBeOfServer(const Error& error) {
  switch (error.code()) {
    case ErrorCode::kUnavailable:
    case ErrorCode::kDeadlineExceeded:
    case ErrorCode::kCancelled:
    case ErrorCode::kAborted:
    case ErrorCode::kFailedPrecondition:
      return true;
    default:
      return false;
  }
}

// The lost server, if the error that is being handled is due to one.
std::optional<Error> LostServer(const ClusterCoordinator& coordinator,
                                bool restoring) {
  try {
    throw;
  } catch (const Error& error) {
    if (!MayBeOfServer(error)) return std::nullopt;
    // Workers notice before the coordinator does.
    const bool wait = restoring || error.code() == ErrorCode::kUnavailable ||
                      error.code() == ErrorCode::kDeadlineExceeded;
    const auto until = std::chrono::steady_clock::now() + kNotice;
    while (true) {
      std::optional<Error> lost = coordinator.LostServer();
      if (lost || !wait || std::chrono::steady_clock::now() >= until) {
        return lost;
      }
      std::this_thread::sleep_for(kLook);
    }
  } catch (...) {
    return std::nullopt;
  }
}

}  // namespace

void FitRun::OpenCheckpoints() {
  checkpoint_ = options_.checkpoint;
  for (const CallbackHandle& callback : options_.callbacks) {
    const auto* backup =
        dynamic_cast<const BackupAndRestore*>(callback.operator->());
    if (backup == nullptr || !checkpoint_.directory.empty()) continue;
    checkpoint_.directory = backup->directory();
    checkpoint_.every_epochs = 1;
    checkpoint_.every_steps = backup->options().save_freq.value_or(0);
    checkpoint_.keep.max_to_keep = 1;
    remove_backups_ = backup->options().delete_checkpoint;
  }
  if (checkpoint_.directory.empty()) {
    checkpoint_.directory =
        CoordinatorMaker::ImplOf(impl_.coordinator)->checkpoint_root;
  }
  if (checkpoint_.directory.empty()) return;
  manager_ = std::make_unique<CheckpointManager>(
      impl_.coordinator, checkpoint_.directory, checkpoint_.keep);
  saved_at_ = impl_.iterations;
  saved_time_ = Steady::now();
}

void FitRun::MaybeSave(bool end_of_epoch) {
  if (manager_ == nullptr) return;
  const bool last = epoch_ >= options_.epochs || impl_.stopping || ended_;
  const bool by_epoch = end_of_epoch && checkpoint_.every_epochs > 0 &&
                        (last || epoch_ % checkpoint_.every_epochs == 0);
  const bool by_steps = checkpoint_.every_steps > 0 &&
                        impl_.iterations - saved_at_ >= checkpoint_.every_steps;
  const bool by_time = checkpoint_.every.count() > 0 &&
                       Steady::now() - saved_time_ >= checkpoint_.every;
  if (by_epoch || by_steps || by_time) Save();
}

void FitRun::FillRound() {
  // A round that has begun is completed, so it must be scheduled whole.
  while (block_ && !impl_.stopping && !ended_ &&
         next_ < steps_.batches_per_epoch() && StepOf(next_) < block_->end() &&
         (next_ - block_batch_) % (Places() * options_.steps_per_execution) !=
             0) {
    ScheduleNext();
  }
}

void FitRun::Save() {
  ReportSaveError();
  saved_at_ = impl_.iterations;
  saved_time_ = Steady::now();
  try {
    trainer_.SaveCheckpoint(*manager_);
  } catch (const Error& error) {
    // A step that has failed is about to be noticed.
    const auto front = CoordinatorMaker::ImplOf(impl_.coordinator);
    if (!front->dispatcher.queue().counts().error.ok()) return;
    Warnings() << fmt::format(
        "warning: no checkpoint could be written to {}, and the training goes "
        "on without: {}\n",
        manager_->directory(), error.what());
    Warnings().flush();
  }
}

void FitRun::ReportSaveError() {
  const std::optional<Error> error = manager_->TakeError();
  if (!error) return;
  Warnings() << fmt::format(
      "warning: {}; the training goes on, and the checkpoints before it are as "
      "they were\n",
      error->what());
  Warnings().flush();
}

bool FitRun::RollBack() {
  std::optional<Error> lost = LostServer(impl_.coordinator, false);
  if (!lost || manager_ == nullptr) return false;
  ReportSaveError();
  if (!manager_->latest()) return false;
  const Steady::time_point begin = Steady::now();
  const std::int64_t had = impl_.iterations;
  while (true) {
    Warnings() << fmt::format("warning: {}\n", lost->what());
    Warnings().flush();
    try {
      impl_.coordinator.Recover(checkpoint_.server_timeout);
      return GoBack(begin, had);
    } catch (...) {
      // It may be gone again.
      lost = LostServer(impl_.coordinator, true);
      if (!lost || Steady::now() - begin >= checkpoint_.server_timeout) throw;
    }
  }
}

RestoreReport FitRun::RestoreNewest(const RestoreOptions& options) {
  RestoreReport report = manager_->Restore(options);
  for (const std::string& damaged : report.damaged) {
    Warnings() << fmt::format("warning: passed over, for {}/{}: {}\n",
                              manager_->directory(), report.name, damaged);
  }
  Warnings().flush();
  return report;
}

bool FitRun::GoBack(Steady::time_point begin, std::int64_t had) {
  const RestoreReport report = RestoreNewest({});
  const auto found = report.records.find(impl_.RecordKey());
  if (found == report.records.end()) return false;
  const FitRecord record = DecodeFitRecord(found->second);
  if (record.call != order_.call) return false;
  rollbacks_ = record.iterations == rolled_back_to_ ? rollbacks_ + 1 : 1;
  rolled_back_to_ = record.iterations;
  if (rollbacks_ > kMostRollbacks) return false;
  pending_.clear();
  block_.reset();
  ended_ = false;
  GoTo(record);
  impl_.AdoptRecord(record);
  impl_.PublishIterations();
  impl_.Publish(RecordNow());
  const double seconds =
      std::chrono::duration<double>(begin - saved_time_).count();
  Warnings() << fmt::format(
      "{}: back to {}/{} (epoch {}, batch {} of {}): {} batches, about {:.1f} "
      "s of training, are done again; {:.1f} s until it went on\n",
      impl_.model.name(), manager_->directory(), report.name, epoch_ + 1,
      batch_ + 1, steps_.batches_per_epoch(), had - record.iterations, seconds,
      std::chrono::duration<double>(Steady::now() - begin).count());
  Warnings().flush();
  saved_at_ = impl_.iterations;
  saved_time_ = Steady::now();
  return true;
}

void FitRun::RemoveBackups() {
  manager_->Wait();
  manager_->RemoveAll();
}

}  // namespace capstan
