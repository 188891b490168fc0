// Checkpoints: all variables of a job with the slots of their optimizers, as
// they were at one moment between two steps, in files that any safetensors
// reader opens (docs/checkpoint_format.md).
//
//   CheckpointManager checkpoints(coordinator, "ckpt", {.max_to_keep = 3});
//   if (checkpoints.latest()) checkpoints.Restore();
//   ... checkpoints.Save();
//
// Fit does this by itself if it is given a directory (FitOptions::checkpoint).
// docs/recovery.md says what happens when tasks die.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "capstan/coordinator.h"
#include "capstan/export.h"

namespace capstan {

struct CheckpointOptions {
  // The newest ones that are kept; 0: all.
  int max_to_keep = 5;
  // And one for each so many hours, for ever; 0: none.
  double keep_every_hours = 0;
  // Another process writes here: nothing is made or removed, and Save and
  // RemoveAll throw.
  bool read_only = false;
};

struct RestoreOptions {
  // "ckpt-12"; empty: the newest that is whole.
  std::string name = {};
  // Which variables: names, in which * stands for any text. Empty: all.
  std::vector<std::string> only = {};
  // Variables of the job, among those, that the checkpoint has not: they stay
  // as they are. If not allowed, nothing is restored.
  bool allow_missing = false;
  // The state of the optimizers too.
  bool slots = true;
  // For variables that are made later: each as soon as it is, by
  // CreateVariables.
  bool when_created = false;
};

// What was restored, and what was not. Names ascend.
struct RestoreReport {
  std::string name = {};
  std::uint64_t step = 0;
  std::vector<std::string> restored = {};
  std::vector<std::string> missing = {};  // in the checkpoint
  std::vector<std::string> unexpected =
      {};  // in the checkpoint, not in the job
  // Whose optimizer is another than in the checkpoint: it begins anew.
  std::vector<std::string> without_slots = {};
  // Newer ones that were passed over, as they are damaged, and how.
  std::vector<std::string> damaged = {};
  std::map<std::string, std::string> records = {};
};

struct ImportOptions {
  // Which variables: names, in which * stands for any text. Empty: all.
  std::vector<std::string> only = {};
  // As RestoreOptions::allow_missing.
  bool allow_missing = false;
  // Tensor "w" of the file is variable prefix + "w"; variables that do not
  // begin with it stay as they are.
  std::string prefix = {};
};

// Brings the tensors of a .safetensors or .npz file, by its suffix, into the
// variables of the job that have their names, however those are cut: what
// CheckpointManager::Export or another program has written. `name` of the
// report is the file; `unexpected` are called as their variables would be.
//
// Values only: the optimizers of these variables begin anew, as what they
// remember travels in checkpoints alone (of a file that was exported with
// slots, those are `unexpected`). f64, f32, f16 and bf16 become one another,
// rounded to nearest; any other type must be the variable's own. Of an .npz,
// i1, i2 and u2 are i32, and u4 is i64. Tensors for which there is no variable
// may be of any type.
//
// As Restore it waits for functions that run, and no new one runs until it
// returns; all is staged on the servers and verified before anything changes; a
// piece at a time is in memory here, or an array of an .npz that is in Fortran
// order. Throws kInvalidArgument for another suffix, or for a tensor of a type
// that Capstan cannot read; kNotFound; kDataLoss, naming file
// and tensor; kFailedPrecondition, naming the variables, if one is missing or
// has another shape or type; kOutOfRange for a finite value that its new type
// could only have as infinity. Any thread may call it.
CAPSTAN_EXPORT RestoreReport
ImportVariables(const ClusterCoordinator& coordinator, const std::string& file,
                const ImportOptions& options = {});

// Saves and restores in one directory. Used by one thread at a time. Must not
// outlive the body of the program.
//
// Only one process may write to a directory. Managers of one coordinator write
// one after the other, and may share a directory, such as that of Fit and that
// of a ModelCheckpoint: while they live a checkpoint is removed only if none of
// them would keep it by its options or by Keep.
class CAPSTAN_EXPORT CheckpointManager {
 public:
  // Makes the directory if it is missing, for its owner alone, and removes what
  // a crash has left in it. Throws kPermissionDenied and the like, naming it.
  CheckpointManager(ClusterCoordinator coordinator, std::string directory,
                    CheckpointOptions options = {});
  // Waits for what is being written, and logs what went wrong if nobody has
  // asked for it.
  ~CheckpointManager();
  CheckpointManager(const CheckpointManager&) = delete;
  CheckpointManager& operator=(const CheckpointManager&) = delete;

  // Saves. No new function runs until those that run have ended and the servers
  // have noted what they hold; then training goes on, and the files are written
  // behind it: by the servers, if they see the directory (docs/recovery.md),
  // else by this process. Returns the name. The one before is waited for, and
  // so is one that another manager writes here.
  // `records` are kept with it besides those of the coordinator; it is called
  // while nothing runs, and may ask what is done.
  //
  // Throws what went wrong before that, and kFailedPrecondition, naming it, if
  // a step that has a key is done in part; what goes wrong afterwards is thrown
  // by Wait, and is no harm to the checkpoints that there are. Old ones are
  // removed once the new one was read back and found to be whole.
  std::string Save(const std::function<std::map<std::string, std::string>()>&
                       records = nullptr);
  // Until the last one is written. Throws what went wrong with it, once.
  void Wait();
  // Whether the last one is still being written. Never waits.
  bool writing() const;
  // What Wait would throw, without waiting: nothing as long as one is being
  // written; what went wrong is then told later.
  std::optional<Error> TakeError();

  // Restores into the variables of the job, however they are cut and on however
  // many servers. All is verified before anything changes. Throws kNotFound if
  // there is none; kDataLoss, naming file and tensor; kFailedPrecondition,
  // naming the variables, if one is missing or has another shape or dtype;
  // kInvalidArgument for a pattern that is like no variable of the job or of
  // the checkpoint. Of the newest ones only those that are damaged are passed
  // over: kPermissionDenied and the like are thrown, as an older one instead
  // would lose work that is there.
  // Without `only` and `when_created`, the steps that are complete are then
  // those of the checkpoint (StepKey); throws kFailedPrecondition if some that
  // have keys are scheduled.
  RestoreReport Restore(const RestoreOptions& options = {});

  // The names, the oldest first; and the newest that is whole.
  std::vector<std::string> checkpoints() const;
  std::optional<std::string> latest() const;
  // The records of a checkpoint (empty name: the newest).
  std::map<std::string, std::string> Records(
      const std::string& name = {}) const;
  // Writes the variables of a checkpoint (empty name: the newest), whole and by
  // their names, as one file: .safetensors or .npz, by its suffix. With
  // `slots`, those of the optimizers too, as "name.slot". A piece at a time is
  // in memory. Throws kInvalidArgument for another suffix.
  void Export(const std::string& file, const std::string& name = {},
              bool slots = false) const;
  // Removes all of them, as a training that has come to its end may, but what
  // another manager keeps here.
  void RemoveAll();
  // This one is not removed until another is kept in its place: the best.
  void Keep(const std::string& name);

  const std::string& directory() const noexcept;
  // How long training was held up by the last Save: waiting for what ran, and
  // after that.
  struct Pause {
    std::chrono::nanoseconds drain = {};
    std::chrono::nanoseconds copy = {};
  };
  Pause last_pause() const noexcept;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace capstan
