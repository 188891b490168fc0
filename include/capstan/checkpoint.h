// Checkpoints: all variables of a job and their optimizer slots, as they were
// at one moment between two steps, in files that any safetensors reader can
// open (docs/checkpoint_format.md).
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
  // How many of the newest checkpoints to keep; 0: all.
  int max_to_keep = 5;
  // Also keep one for every so many hours, forever; 0: none.
  double keep_every_hours = 0;
  // Another process writes to this directory: nothing is created or removed,
  // and Save and RemoveAll throw.
  bool read_only = false;
};

struct RestoreOptions {
  // "ckpt-12"; empty: the newest that is intact.
  std::string name = {};
  // Which variables: names, in which * matches any text. Empty: all.
  std::vector<std::string> only = {};
  // Whether those variables of the job may be missing from the checkpoint: they
  // then stay as they are. If not allowed, nothing is restored.
  bool allow_missing = false;
  // Restore the state of the optimizers, too.
  bool slots = true;
  // For variables that are created later: restore each as soon as
  // CreateVariables creates it.
  bool when_created = false;
};

// What was restored, and what was not. Names are in ascending order.
struct RestoreReport {
  std::string name = {};
  std::uint64_t step = 0;
  std::vector<std::string> restored = {};
  std::vector<std::string> missing = {};  // from the checkpoint
  // In the checkpoint, but not in the job.
  std::vector<std::string> unexpected = {};
  // Their optimizer differs from that in the checkpoint: its slots start fresh.
  std::vector<std::string> without_slots = {};
  // Newer checkpoints that were skipped because they are damaged, and how.
  std::vector<std::string> damaged = {};
  std::map<std::string, std::string> records = {};
};

struct ImportOptions {
  // Which variables: names, in which * matches any text. Empty: all.
  std::vector<std::string> only = {};
  // As RestoreOptions::allow_missing.
  bool allow_missing = false;
  // Tensor "w" of the file is variable prefix + "w"; variables whose names do
  // not begin with the prefix stay as they are.
  std::string prefix = {};
};

// Imports the tensors of a .safetensors or .npz file (the suffix selects the
// format) into the variables of the job that have the same names, however these
// are cut. The file may be written by CheckpointManager::Export or by another
// program. In the report, `name` is the file, and `unexpected` lists tensors
// under the names that their variables would have.
//
// Only values are imported: the optimizers of these variables start fresh,
// because their slots are restored from checkpoints only (in a file that was
// exported with slots, the slots are `unexpected`). f64, f32, f16 and bf16 are
// converted to one another, rounding to nearest; any other type must be that of
// the variable. From an .npz, i1, i2 and u2 are read as i32, and u4 as i64.
// Tensors that have no variable may be of any type.
//
// Like Restore, it waits for running functions, and no new one runs until it
// returns. Everything is staged on the servers and verified before anything
// changes. This process holds one piece at a time in memory, or one array of an
// .npz if that is in Fortran order. Throws kInvalidArgument for another suffix,
// or for a tensor of a type that Capstan cannot read; kNotFound; kDataLoss,
// naming the file and the tensor; kFailedPrecondition, naming the variables, if
// one is missing or has another shape or type; kOutOfRange for a finite value
// that would become infinite in its new type. Any thread may call it.
CAPSTAN_EXPORT RestoreReport
ImportVariables(const ClusterCoordinator& coordinator, const std::string& file,
                const ImportOptions& options = {});

// Saves and restores checkpoints in one directory. Used by one thread at a
// time. Must not outlive the body of the program.
//
// Only one process may write to a directory. Managers of one coordinator write
// one after the other, and may share a directory, such as that of Fit and that
// of a ModelCheckpoint: while they exist, a checkpoint is removed only if none
// of them would keep it, by its options or by Keep.
class CAPSTAN_EXPORT CheckpointManager {
 public:
  // Creates the directory if it is missing, accessible to its owner only, and
  // removes what a crash left in it. Throws kPermissionDenied and the like,
  // naming the directory.
  CheckpointManager(ClusterCoordinator coordinator, std::string directory,
                    CheckpointOptions options = {});
  // Waits for a checkpoint that is being written, and logs its error if nobody
  // has asked for it.
  ~CheckpointManager();
  CheckpointManager(const CheckpointManager&) = delete;
  CheckpointManager& operator=(const CheckpointManager&) = delete;

  // Saves a checkpoint and returns its name. No new function runs until the
  // running ones have ended and the servers have taken a snapshot; then
  // training resumes, and the files are written in the background: by the
  // servers, if they see the directory (docs/recovery.md), otherwise by this
  // process. Save first waits for the previous checkpoint, and for one that
  // another manager of this coordinator is writing.
  // `records` are stored in the checkpoint, in addition to those of the
  // coordinator; it is called while nothing runs, and may ask which steps are
  // complete.
  //
  // Throws what goes wrong before training resumes, and kFailedPrecondition,
  // naming the step, if a step with a key is partly done. What goes wrong
  // afterwards is thrown by Wait, and does not harm existing checkpoints. Old
  // ones are removed once the new one has been read back and found intact.
  std::string Save(const std::function<std::map<std::string, std::string>()>&
                       records = nullptr);
  // Waits until the last checkpoint is written. Throws its error, once.
  void Wait();
  // Whether the last checkpoint is still being written. Never waits.
  bool writing() const;
  // The error that Wait would throw, without waiting: nullopt while a
  // checkpoint is being written, whose error is then reported later.
  std::optional<Error> TakeError();

  // Restores into the variables of the job, however they are cut and on however
  // many servers. Everything is verified before anything changes. Throws
  // kNotFound if there is no checkpoint; kDataLoss, naming the file and the
  // tensor; kFailedPrecondition, naming the variables, if one is missing or has
  // another shape or dtype; kInvalidArgument for a pattern that matches no
  // variable of the job or of the checkpoint. When it looks for the newest one,
  // it skips damaged checkpoints only: kPermissionDenied and the like are
  // thrown, because an older checkpoint in its place would lose work that still
  // exists.
  // Without `only` and `when_created`, the complete steps are then those of the
  // checkpoint (StepKey); throws kFailedPrecondition if steps that have keys
  // are scheduled.
  RestoreReport Restore(const RestoreOptions& options = {});

  // The names, oldest first, and the newest one that is intact.
  std::vector<std::string> checkpoints() const;
  std::optional<std::string> latest() const;
  // The records of a checkpoint (empty name: the newest).
  std::map<std::string, std::string> Records(
      const std::string& name = {}) const;
  // Writes the variables of a checkpoint (empty name: the newest), each in one
  // piece and under its name, to one file: .safetensors or .npz, as the suffix
  // says. With `slots`, also writes those of the optimizers, as "name.slot".
  // Holds one piece at a time in memory. Throws kInvalidArgument for another
  // suffix.
  void Export(const std::string& file, const std::string& name = {},
              bool slots = false) const;
  // Removes all checkpoints except those that another manager keeps here, for
  // example when training has finished.
  void RemoveAll();
  // Keeps this checkpoint until Keep is called for another: for the best one.
  void Keep(const std::string& name);

  const std::string& directory() const noexcept;
  // How long the last Save held up training: `drain` while it waited for
  // running functions, `copy` after that.
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
