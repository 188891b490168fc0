// When a Fit saves, and how it goes back to a checkpoint.
#include <fmt/format.h>

#include <thread>

#include "base/error.h"
#include "coordinator/coordinator_impl.h"
#include "train/fit/fit_run.h"

namespace capstan {
namespace {

// How long it may take to notice that a server is lost; see membership/.
constexpr std::chrono::seconds kNotice(10);
constexpr std::chrono::milliseconds kLook(50);

// The number of checkpoints whose time is remembered. A rollback uses one of
// the latest.
constexpr size_t kMostCuts = 8;

// Rollbacks without a batch trained in between before giving up.
constexpr int kMostRollbacks = 10;

// Whether an error may be caused by a lost server.
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

// The lost server, if one caused the error being handled.
std::optional<Error> LostServer(const ClusterCoordinator& coordinator,
                                bool restoring) {
  try {
    throw;
  } catch (const Error& error) {
    if (!MayBeOfServer(error)) return std::nullopt;
    // Workers may notice before the coordinator does.
    const bool wait = restoring || error.code() == ErrorCode::kUnavailable ||
                      error.code() == ErrorCode::kDeadlineExceeded ||
                      error.code() == ErrorCode::kAborted;
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
    if (backup == nullptr) continue;
    if (!checkpoint_.directory.empty()) {
      Warnings() << fmt::format(
          "warning: BackupAndRestore of '{}' does nothing, as Fit saves in "
          "'{}' and begins with what is there; leave one of them out\n",
          backup->directory(), checkpoint_.directory);
      Warnings().flush();
      continue;
    }
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
  began_ = saved_time_ = Steady::now();
}

bool FitRun::MaybeSave(bool end_of_epoch) {
  if (manager_ == nullptr) return false;
  // The checkpoint after the last epoch is saved at the end, by SaveAtEnd.
  if (end_of_epoch && (epoch_ >= options_.epochs || impl_.stopping || ended_)) {
    return false;
  }
  const bool by_epoch = end_of_epoch && checkpoint_.every_epochs > 0 &&
                        epoch_ % checkpoint_.every_epochs == 0;
  const bool by_steps = checkpoint_.every_steps > 0 &&
                        impl_.iterations - saved_at_ >= checkpoint_.every_steps;
  const bool by_time = checkpoint_.every.count() > 0 &&
                       Steady::now() - saved_time_ >= checkpoint_.every;
  // Skip a save that is due while the last one is being written: training must
  // not wait for a slow disk.
  const bool later = manager_->writing();
  return (by_epoch || (!later && (by_steps || by_time))) && Save();
}

void FitRun::TakeBackServers(bool saved) {
  if (manager_ == nullptr || epoch_ >= options_.epochs || impl_.stopping ||
      ended_) {
    return;
  }
  const std::vector<std::string> back = impl_.coordinator.ReturnedServers();
  if (back.empty()) return;
  const Steady::time_point begin = Steady::now();
  // Progress that is not in a checkpoint would be lost.
  if ((!saved && !Save()) || !AwaitSave()) return;
  Warnings() << fmt::format("{}: {} answers again and gets its part back\n",
                            impl_.model.name(), fmt::join(back, ", "));
  const std::int64_t had = impl_.iterations;
  const std::vector<std::string> without = Recover();
  if (!GoBack(begin, had, without)) {
    throw Error(ErrorCode::kDataLoss,
                fmt::format("{} does not have what was saved into it",
                            manager_->directory()));
  }
}

bool FitRun::HasCheckpointOfThisCall() const {
  if (!manager_->latest()) return false;
  const std::map<std::string, std::string> records = manager_->Records();
  const auto found = records.find(impl_.RecordKey());
  return found != records.end() &&
         DecodeFitRecord(found->second).call == order_.call;
}

void FitRun::SaveAtEnd() {
  AwaitSave();
  if (remove_backups_) {
    manager_->RemoveAll();
    return;
  }
  const bool saved = Save();
  AwaitSave();
  if (saved) return;
  // Training must not finish if values were lost.
  if (const std::optional<Error> lost = impl_.coordinator.LostServer()) {
    throw *lost;
  }
}

bool FitRun::AwaitSave() {
  try {
    manager_->Wait();
    return true;
  } catch (const Error& error) {
    WarnOfSave(error);
    return false;
  }
}

void FitRun::FillRound() {
  // A round that was started must complete, so schedule all of it.
  while (block_ && !impl_.stopping && !ended_ &&
         next_ < steps_.batches_per_epoch() && StepOf(next_) < block_->end() &&
         (next_ - block_batch_) % (Places() * options_.steps_per_execution) !=
             0) {
    ScheduleNext();
  }
}

bool FitRun::Save() {
  if (const std::optional<Error> error = manager_->TakeError()) {
    WarnOfSave(*error);
  }
  saved_at_ = impl_.iterations;
  saved_time_ = Steady::now();
  // Outside the try block: a failed step is an error of the training, not of
  // the checkpoint.
  FillRound();
  try {
    cuts_.emplace_back(trainer_.SaveCheckpoint(*manager_), saved_time_);
    if (cuts_.size() > kMostCuts) cuts_.pop_front();
    return true;
  } catch (const Error& error) {
    // The training is about to report the failed step.
    const auto coordinator_impl = CoordinatorMaker::ImplOf(impl_.coordinator);
    if (!coordinator_impl->dispatcher.queue().counts().error.ok()) return false;
    Warnings() << fmt::format(
        "warning: no checkpoint could be written to {}, and the training goes "
        "on without: {}\n",
        manager_->directory(), error.what());
    Warnings().flush();
    return false;
  }
}

void FitRun::WarnOfSave(const Error& error) const {
  Warnings() << fmt::format(
      "warning: {}; the training goes on, and the checkpoints before it are as "
      "they were\n",
      error.what());
  Warnings().flush();
}

std::vector<std::string> FitRun::Recover() {
  RecoverOptions options;
  options.timeout = checkpoint_.server_timeout;
  options.go_on_without = checkpoint_.go_on_without;
  return impl_.coordinator.Recover(options);
}

std::vector<std::string> FitRun::RecoverFromError(int tries, bool restoring) {
  const std::optional<Error> lost = LostServer(impl_.coordinator, restoring);
  if (!lost || tries > kMostRollbacks) throw;
  Warnings() << fmt::format("warning: {}\n", lost->what());
  Warnings().flush();
  try {
    return Recover();
  } catch (const Error& error) {
    // The server is not back in time.
    if (error.code() == ErrorCode::kDeadlineExceeded) throw;
    // The server, or another one, may be lost again.
    return RecoverFromError(tries + 1, true);
  }
}

bool FitRun::RollBack() {
  if (manager_ == nullptr || !LostServer(impl_.coordinator, false)) {
    return false;
  }
  AwaitSave();
  if (!HasCheckpointOfThisCall()) return false;
  const Steady::time_point begin = Steady::now();
  const std::int64_t had = impl_.iterations;
  std::vector<std::string> without = RecoverFromError(1, false);
  for (int tries = 2;; ++tries) {
    try {
      return GoBack(begin, had, without);
    } catch (const Error&) {
      without = RecoverFromError(tries, true);
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

FitRun::Steady::time_point FitRun::TimeOfCut(const std::string& name) const {
  for (const auto& [cut, time] : cuts_) {
    if (cut == name) return time;
  }
  // An earlier coordinator saved it.
  return began_;
}

bool FitRun::GoBack(Steady::time_point begin, std::int64_t had,
                    const std::vector<std::string>& without) {
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
  states_before_.reset();
  GoTo(record);
  impl_.AdoptRecord(record);
  impl_.PublishIterations();
  AdoptRecords(report, true);
  impl_.Publish(RecordNow());
  const double seconds =
      std::chrono::duration<double>(begin - TimeOfCut(report.name)).count();
  Warnings() << fmt::format(
      "{}: back to {}/{} ({}): {} batches, about {:.1f} s of training, are "
      "done again; {:.1f} s until it went on{}\n",
      impl_.model.name(), manager_->directory(), report.name, Place(),
      had - record.iterations, seconds,
      std::chrono::duration<double>(Steady::now() - begin).count(),
      without.empty() ? ""
                      : fmt::format(", without {}", fmt::join(without, ", ")));
  Warnings().flush();
  saved_at_ = impl_.iterations;
  saved_time_ = Steady::now();
  return true;
}

}  // namespace capstan
