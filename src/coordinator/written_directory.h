// The directories that CheckpointManagers of one coordinator write to. Those of
// one directory share what is to be kept: else one would clean up what another
// is writing, and remove what it keeps. All of them take turns, as servers have
// one snapshot at a time.
// Thread-safe.
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
  // A manager of it. 0 is none.
  using Member = std::uint64_t;
  Member Join(const Retention& retention);
  // Its retention ends; what it keeps stays for as long as there are others.
  void Leave(Member member);

  // `name` in the place of what it has kept before.
  void Keep(Member member, std::string name);
  std::set<std::string> KeptByOthers(Member member) const;
  // Those that nobody keeps, by retention or by name; oldest first.
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
  // That of the directory with this canonical path, for as long as anybody
  // holds it. `prepare` is called for the first one only, and its error
  // returned; others wait for it.
  absl::StatusOr<std::shared_ptr<WrittenDirectory>> Open(
      const std::string& path, const std::function<absl::Status()>& prepare);

  // The right to write and to remove, until it is destroyed, by any thread.
  class Turn;
  // For `directory`. Null if another has it for all of that time. Blocks.
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
