// The directories that CheckpointManagers of one coordinator write to, and what
// those of one directory share: whose turn it is, and what is to be kept. Else
// one would clean up what another is writing, and remove what it keeps.
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
#include <vector>

#include "absl/status/statusor.h"
#include "base/clock.h"
#include "checkpoint/directory.h"

namespace capstan {

class WrittenDirectory : public std::enable_shared_from_this<WrittenDirectory> {
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

  // The right to write and to remove, until it is destroyed, by any thread.
  class Turn {
   public:
    explicit Turn(std::shared_ptr<WrittenDirectory> of) : of_(std::move(of)) {}
    ~Turn();
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

   private:
    const std::shared_ptr<WrittenDirectory> of_;
  };
  // Null if another has it for all of that time. Blocks.
  std::unique_ptr<Turn> AwaitTurn(Duration timeout);

 private:
  mutable std::mutex mutex_;
  std::condition_variable given_back_;
  // Guarded by mutex_.
  bool taken_ = false;
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

 private:
  std::mutex mutex_;
  // Guarded by mutex_.
  std::map<std::string, std::weak_ptr<WrittenDirectory>> open_;
};

}  // namespace capstan
