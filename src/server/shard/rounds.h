// How far the rounds of a job are on this server: which synchronous round was
// committed last, and which clocks all replicas have done with. Pulls wait for
// either.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "server/shard/signal.h"

namespace capstan {

// Thread-safe. A wait that has nothing to wait for takes no lock.
class Rounds {
 public:
  // What a pull needs before it may be answered.
  struct Need {
    uint64_t committed = 0;  // this synchronous round
    uint64_t clock = 0;      // all replicas to be done with this clock
  };

  bool Met(const Need& need) const {
    return committed_.load(std::memory_order_acquire) >= need.committed &&
           done_.load(std::memory_order_acquire) >= need.clock;
  }

  // Null if it is met; else a signal that is set when something has changed
  // and it is worth to look again.
  std::shared_ptr<Signal> WaitFor(const Need& need, const Executor& home);

  // Whom a pull waits for: "the commit of round 3", "replicas 1 and 4 to be
  // done with clock 7".
  std::string Missing(const Need& need) const;

  uint64_t committed() const {
    return committed_.load(std::memory_order_acquire);
  }
  // A commit: the contributions of `replicas` to `round`.
  struct Decision {
    uint64_t round = 0;
    std::vector<uint32_t> replicas;
  };
  // The last commit that has begun: if it was broken off, some shards have it
  // and others do not.
  Decision last_begun() const {
    const std::lock_guard lock(mutex_);
    return begun_;
  }
  // Remembers a commit before the first shard has it, if `fence` says OK. Who
  // asks for last_begun after that sees it, or `fence` sees what he did before.
  absl::Status Begin(uint64_t round, std::span<const uint32_t> replicas,
                     const std::function<absl::Status()>& fence);
  // All shards have it.
  void Commit(uint64_t round);

  // How many replicas there are; only ever more.
  void SetReplicas(uint32_t replicas);
  // InvalidArgument if there is no such replica, FailedPrecondition if it is
  // far ahead of what it has done.
  absl::Status Tick(uint64_t clock, std::span<const uint32_t> replicas);

  // How many are remembered as waiting, for tests.
  size_t num_waiting() const {
    const std::lock_guard lock(mutex_);
    return waiting_.size();
  }

  // Wakes all who wait, for good: the job has moved on to another generation.
  void Close();

 private:
  struct Replica {
    uint64_t done = 0;         // all clocks up to this
    std::set<uint64_t> later;  // and these
  };
  void WakeAll();

  std::atomic<uint64_t> committed_ = 0;
  std::atomic<uint64_t> done_ = 0;  // by all replicas

  mutable std::mutex mutex_;
  Decision begun_;                                // guarded by mutex_
  std::vector<Replica> replicas_;                 // guarded by mutex_
  std::vector<std::shared_ptr<Signal>> waiting_;  // guarded by mutex_
  size_t prune_at_ = 64;                          // guarded by mutex_
};

}  // namespace capstan
