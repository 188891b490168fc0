// The coordinator's state in the exact_digits workload: which steps exist, who
// runs them, and which are done. It is kept outside the nodes, like the state
// of a coordinator that never forgets: the scheduler is not under test.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/async/clock.h"
#include "base/random.h"
#include "simulate/digits/digit_options.h"
#include "simulate/workload.h"
#include "wire/parameter.h"

namespace capstan::simulate {

// A step for a worker.
struct Assignment {
  Fence fence;
  uint64_t step = 0;
  uint64_t round = 0;  // 0: in no round
  uint32_t replica = 0;
  size_t first_slot = 0;  // of its updates; the others follow
  friend bool operator==(const Assignment&, const Assignment&) = default;
};

// A synchronous round that may be committed, and the replicas in it.
struct RoundDecision {
  uint64_t round = 0;
  std::vector<uint32_t> replicas;
  std::vector<size_t> slots;  // in the order of the sum
};

// Used from the simulation's thread.
class DigitLedger {
 public:
  DigitLedger(const DigitOptions& options, Plant plant, Random random);

  // A rollback is coming: no new steps until StartGeneration, which forgets all
  // steps and starts again with unused slots.
  void EndGeneration() { ended_ = true; }
  void StartGeneration(const Fence& fence);
  void StartTerm(uint64_t term) { fence_.term = term; }
  const Fence& fence() const { return fence_; }
  // While paused, no steps are handed out.
  void set_paused(bool paused) { paused_ = paused; }
  // No more new steps.
  void Stop() { stopped_ = true; }
  // Whether enough slots are left for another generation.
  bool HasRoomForGeneration() const;
  // The first unused slot.
  size_t next_first_slot() const;

  // A step for a worker: a new one, one whose worker has not finished in time,
  // or, by chance, one that another worker is running.
  std::optional<Assignment> Take(MonotonicTime now);
  // The worker has given up on the step.
  void GiveBack(const Assignment& assignment);
  // All updates of the step were acknowledged by all shards.
  void Done(const Assignment& assignment);

  // The next synchronous round, if enough replicas have done their steps. A
  // decision never changes.
  std::optional<RoundDecision> NextCommit();
  // The exception: a new coordinator that does not know of the decision has
  // found that it took effect nowhere.
  void ForgetDecision() { decision_.reset(); }
  // The round was committed on all servers.
  void Committed(uint64_t round);

  // All steps up to this one are finished.
  uint64_t Watermark() const;
  uint64_t num_steps() const { return steps_.size(); }
  size_t first_slot() const { return first_slot_; }
  uint64_t committed() const { return committed_; }
  bool AllOver() const;
  // How often a step was handed out again.
  uint64_t repeats() const { return repeats_; }

 private:
  struct Step {
    MonotonicTime given = MonotonicTime::min();
    bool taken = false;  // by a worker that has not given it back
    bool acked = false;
    bool over = false;
  };

  Assignment Give(size_t index, MonotonicTime now);
  // Whether a worker may start this step.
  bool IsReady(size_t index) const;
  bool CanOpen(MonotonicTime now) const;
  std::optional<size_t> FindFree(MonotonicTime now) const;
  std::optional<size_t> FindBusy();

  const DigitOptions& options_;
  const Plant plant_;
  Random random_;
  Fence fence_;
  bool paused_ = true;
  bool ended_ = false;
  bool stopped_ = false;
  MonotonicTime next_open_ = MonotonicTime::min();
  size_t first_slot_ = 0;
  std::vector<Step> steps_;  // by number, from 1 on
  uint64_t committed_ = 0;
  std::optional<RoundDecision> decision_;
  uint64_t repeats_ = 0;
};

}  // namespace capstan::simulate
