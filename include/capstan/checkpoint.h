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
  // Another process writes here: nothing is made or removed, and Save throws.
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

// Saves and restores in one directory. Used by one thread at a time; one
// manager for each directory. Must not outlive the body of the program.
class CAPSTAN_EXPORT CheckpointManager {
 public:
  // Makes the directory if it is missing, and removes what a crash has left in
  // it. Throws kPermissionDenied and the like, naming it.
  CheckpointManager(ClusterCoordinator coordinator, std::string directory,
                    CheckpointOptions options = {});
  // Waits for what is being written.
  ~CheckpointManager();
  CheckpointManager(const CheckpointManager&) = delete;
  CheckpointManager& operator=(const CheckpointManager&) = delete;

  // Saves. No new function runs until those that run have ended and the servers
  // have noted what they hold; then training goes on, and the files are written
  // behind it: by the servers, if they see the directory (docs/recovery.md),
  // else by this process. Returns the name. The one before is waited for.
  // `records` are kept with it besides those of the coordinator; it is called
  // while nothing runs, and may ask what is done.
  //
  // Throws what went wrong before that; what goes wrong afterwards is thrown by
  // Wait, and is no harm to the checkpoints that there are. Old ones are
  // removed once the new one was read back and found to be whole.
  std::string Save(const std::function<std::map<std::string, std::string>()>&
                       records = nullptr);
  // Until the last one is written. Throws what went wrong with it, once.
  void Wait();
  // The same without waiting and throwing: what went wrong with the last one.
  std::optional<Error> TakeError();

  // Restores into the variables of the job, however they are cut and on however
  // many servers. All is verified before anything changes. Throws kNotFound if
  // there is none; kDataLoss, naming file and tensor; kFailedPrecondition,
  // naming the variables, if one is missing or has another shape or dtype.
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
  // Removes all of them, as a training that has come to its end may.
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
