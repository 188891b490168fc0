// The progress of a job's rounds on this server: the synchronous round that was
// committed last, and the clocks that all replicas have finished. Pulls wait
// for either.
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

// Thread-safe. Takes no lock if there is nothing to wait for.
class Rounds {
 public:
  // What must have happened before a pull may be answered.
  struct Need {
    uint64_t committed = 0;  // this synchronous round is committed
    uint64_t clock = 0;      // all replicas have finished this clock
  };

  bool Met(const Need& need) const {
    return committed_.load(std::memory_order_acquire) >= need.committed &&
           done_.load(std::memory_order_acquire) >= need.clock;
  }

  // Null if `need` is met; else a signal that is set when something has
  // changed, so that the caller checks again.
  std::shared_ptr<Signal> WaitFor(const Need& need, const Executor& home);

  // What a pull is waiting for: "the commit of round 3", "replicas 1 and 4 to
  // be done with clock 7".
  std::string Missing(const Need& need) const;

  uint64_t committed() const {
    return committed_.load(std::memory_order_acquire);
  }
  // A commit: the contributions of `replicas` to `round`.
  struct Decision {
    uint64_t round = 0;
    std::vector<uint32_t> replicas;
  };
  // The last commit that has begun. If it was interrupted, some shards have it
  // and others do not.
  Decision last_begun() const {
    const std::lock_guard lock(mutex_);
    return begun_;
  }
  // Records a commit before the first shard has it, if `fence` returns OK. A
  // caller that asks for last_begun afterwards sees it, or `fence` sees what
  // that caller did before.
  absl::Status Begin(uint64_t round, std::span<const uint32_t> replicas,
                     const std::function<absl::Status()>& fence);
  // All shards have it.
  void Commit(uint64_t round);

  // The number of replicas; it never shrinks.
  void SetReplicas(uint32_t replicas);
  // InvalidArgument if there is no such replica; FailedPrecondition if the
  // clock is far ahead of those that the replica has finished.
  absl::Status Tick(uint64_t clock, std::span<const uint32_t> replicas);

  // The number of waiters that are recorded, for tests.
  size_t num_waiting() const {
    const std::lock_guard lock(mutex_);
    return waiting_.size();
  }

  // Wakes all waiters, permanently: the job has moved on to another generation.
  void Close();

 private:
  struct Replica {
    uint64_t done = 0;         // all clocks up to this one
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
