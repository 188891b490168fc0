#include "server/shard/rounds.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace capstan {
namespace {

// Clocks are finished approximately in order; a replica further ahead than this
// is a mistake that would fill the memory.
constexpr uint64_t kMostClocksAhead = 1 << 16;

}  // namespace

std::shared_ptr<Signal> Rounds::WaitFor(const Need& need,
                                        const Executor& home) {
  if (Met(need)) return nullptr;
  const std::lock_guard lock(mutex_);
  if (Met(need)) return nullptr;
  // Signals whose waits have ended are useless; they are removed when the
  // number of signals has doubled.
  if (waiting_.size() >= prune_at_) {
    std::erase_if(waiting_, [](const std::shared_ptr<Signal>& one) {
      return one.use_count() == 1;
    });
    prune_at_ = std::max<size_t>(64, 2 * waiting_.size());
  }
  auto signal = std::make_shared<Signal>(home);
  waiting_.push_back(signal);
  return signal;
}

std::string Rounds::Missing(const Need& need) const {
  if (committed() < need.committed) {
    return absl::StrCat("the coordinator to commit round ", need.committed,
                        "; the last one committed is ", committed());
  }
  std::vector<std::string> late;
  const std::lock_guard lock(mutex_);
  for (size_t i = 0; i < replicas_.size(); ++i) {
    if (replicas_[i].done < need.clock) {
      late.push_back(absl::StrCat(i, " (at ", replicas_[i].done, ")"));
    }
  }
  return absl::StrCat(late.size() == 1 ? "replica " : "replicas ",
                      absl::StrJoin(late, ", "), " to be done with clock ",
                      need.clock);
}

absl::Status Rounds::Begin(uint64_t round, std::span<const uint32_t> replicas,
                           const std::function<absl::Status()>& fence) {
  const std::lock_guard lock(mutex_);
  CAPSTAN_RETURN_IF_ERROR(fence());
  if (round <= committed()) return absl::OkStatus();
  begun_.round = round;
  begun_.replicas.assign(replicas.begin(), replicas.end());
  return absl::OkStatus();
}

void Rounds::Commit(uint64_t round) {
  const std::lock_guard lock(mutex_);
  if (round <= committed()) return;
  committed_.store(round, std::memory_order_release);
  WakeAll();
}

void Rounds::SetReplicas(uint32_t replicas) {
  const std::lock_guard lock(mutex_);
  if (replicas <= replicas_.size()) return;
  // A replica that is added later has no part in earlier clocks.
  Replica replica;
  replica.done = done_.load(std::memory_order_relaxed);
  replicas_.resize(replicas, replica);
}

absl::Status Rounds::Tick(uint64_t clock, std::span<const uint32_t> replicas) {
  const std::lock_guard lock(mutex_);
  for (const uint32_t index : replicas) {
    if (index >= replicas_.size()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "a clock of replica ", index, ", but there are ", replicas_.size()));
    }
    if (clock > replicas_[index].done + kMostClocksAhead) {
      return absl::FailedPreconditionError(absl::StrCat(
          "replica ", index, " is done with clock ", clock,
          ", but of those before it only with ", replicas_[index].done));
    }
  }
  for (const uint32_t index : replicas) {
    Replica& replica = replicas_[index];
    if (clock <= replica.done) continue;
    replica.later.insert(clock);
    while (!replica.later.empty() &&
           *replica.later.begin() == replica.done + 1) {
      replica.later.erase(replica.later.begin());
      ++replica.done;
    }
  }
  uint64_t done = replicas_.empty() ? 0 : UINT64_MAX;
  for (const Replica& replica : replicas_) done = std::min(done, replica.done);
  if (done > done_.load(std::memory_order_relaxed)) {
    done_.store(done, std::memory_order_release);
    WakeAll();
  }
  return absl::OkStatus();
}

void Rounds::Close() {
  const std::lock_guard lock(mutex_);
  WakeAll();
}

void Rounds::WakeAll() {
  for (const std::shared_ptr<Signal>& signal : std::exchange(waiting_, {})) {
    signal->Set();
  }
}

}  // namespace capstan
