// The directories that the CheckpointManagers of one coordinator write to.
// Managers of the same directory share what is to be kept: otherwise one would
// clean up what another is writing and remove what it keeps. All managers take
// turns, as servers have one snapshot at a time. Thread-safe.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "base/async/clock.h"
#include "checkpoint/directory.h"

namespace capstan {

class WrittenDirectory {
 public:
  // A manager of the directory. 0: none.
  using Member = std::uint64_t;
  Member Join(const Retention& retention);
  // Ends the retention of `member`; what it keeps by name stays as long as
  // there are other members.
  void Leave(Member member);

  // Keeps `name` instead of what `member` kept before.
  void Keep(Member member, std::string name);
  std::set<std::string> KeptByOthers(Member member) const;
  // Checkpoints that no member keeps, by retention or by name; oldest first.
  std::vector<std::string> SuperfluousOf(
      const std::vector<Checkpoint>& checkpoints) const;

 private:
  mutable std::mutex mutex_;
  // Guarded by mutex_.
  Member last_ = 0;
  std::map<Member, Retention> retentions_;
  std::map<Member, std::string> kept_;
};

class WrittenDirectories {
 public:
  // The directory with this canonical path; shared while anybody holds it.
  // Calls `prepare` only if nobody holds it yet, and returns its error;
  // concurrent calls wait.
  absl::StatusOr<std::shared_ptr<WrittenDirectory>> Open(
      const std::string& path, const std::function<absl::Status()>& prepare);

  // The right to write and to remove, until it is destroyed, on any thread.
  class Turn;
  // Waits for a turn for `directory`. Null if another has it for all of
  // `timeout`. Blocks.
  std::unique_ptr<Turn> AwaitTurn(const std::string& directory,
                                  Duration timeout);
  // The directory whose turn it is; empty if there is none.
  std::string writes_to() const;

 private:
  struct Turns {
    std::mutex mutex;
    std::condition_variable given_back;
    // Guarded by mutex.
    bool taken = false;
    std::string directory;
  };

  const std::shared_ptr<Turns> turns_ = std::make_shared<Turns>();
  std::mutex mutex_;
  // Guarded by mutex_.
  std::map<std::string, std::weak_ptr<WrittenDirectory>> open_;
};

class WrittenDirectories::Turn {
 public:
  explicit Turn(std::shared_ptr<Turns> of) : of_(std::move(of)) {}
  ~Turn();
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

 private:
  const std::shared_ptr<Turns> of_;
};

}  // namespace capstan
