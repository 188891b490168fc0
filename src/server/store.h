// What a parameter server holds: its shards, the job's shard map, and which
// generation and term it obeys.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/container/btree_map.h"
#include "base/async/task.h"
#include "base/file/file_system.h"
#include "base/status.h"
#include "server/shard/memory_budget.h"
#include "server/shard/published.h"
#include "server/shard/rounds.h"
#include "server/shard/shard.h"
#include "server/snapshot_store.h"
#include "server/stage/staging_area.h"
#include "variable/shard_map.h"
#include "wire/parameter.h"
#include "wire/service.h"

namespace capstan {

// What belongs to a generation and goes with it. Thread-safe.
struct Generation {
  uint64_t number = 0;
  std::atomic<uint64_t> watermark = 0;
  Rounds rounds;
  SnapshotStore snapshots;
  StagingArea staging;
  // Of shards that are gone.
  std::atomic<uint64_t> last_step = 0;

  std::mutex mutex;
  // Changes together with `watermark`, which is written under the mutex too.
  std::string record;  // guarded by mutex
};

// One version of the shard map and the shards that it gives this server.
// Immutable, but for what the shards and the generation hold.
struct ShardTable {
  ShardMap map;
  std::string encoded_map;
  std::shared_ptr<Generation> generation;
  // In order: whoever enters one turn after the other does so in the same order
  // in every run.
  absl::btree_map<ShardKey, std::shared_ptr<Shard>> shards;

  // Null if it is not here.
  Shard* Find(const ShardKey& key) const;
};

// A call keeps the table that it works with, and thereby the shards and the
// generation, until it ends; once no call does, a table that was replaced is
// freed.
using TablePtr = std::shared_ptr<const ShardTable>;

struct StoreOptions {
  uint32_t server = 0;  // which of the servers this is
  uint64_t memory_limit = UINT64_MAX;
  // Of answers that are copies, such as rows, until they have left.
  uint64_t answer_limit = uint64_t{2} << 30;
  // Where checkpoints are written and read; null: nowhere, so that the
  // coordinator does it.
  std::shared_ptr<FileSystem> checkpoints;
  // For what blocks. Its thread must be stopped before those that serve calls
  // are destroyed. Empty: done where the call is served.
  Executor disk;
};

// Thread-safe.
class Store {
 public:
  explicit Store(StoreOptions options);

  // The table now. Takes no lock.
  TablePtr table() const { return table_.Load(); }

  // OK if a call of `fence` may begin, and work with `table`.
  // FailedPrecondition, "fenced", if it is of an older generation or term;
  // Unavailable if this server has not heard of its generation or term yet. It
  // hears of a newer term from the chief alone; InvalidArgument for a number
  // that cannot be a term.
  absl::Status Admit(const Fence& fence, const ShardTable& table,
                     const ServerCall& call);
  // The same once more, for a call that was let in before: a coordinator may
  // have taken over since.
  absl::Status CheckFence(const Fence& fence);
  // The same for one who only reads, and has no term.
  absl::Status CheckGeneration(uint64_t generation);
  // The same, if it is to read `table`.
  absl::Status CheckGeneration(uint64_t generation, const ShardTable& table);

  // Takes a shard map over, as InstallRequest says. Yields to other work of
  // the executor while it fills the shards. Unavailable while another map is
  // being installed. Terms as in Admit.
  Task<absl::Status> Install(InstallRequest request, const ServerCall& call);

  // Moves the watermark forward, and takes its record over.
  absl::Status SetWatermark(const WatermarkRequest& request);

  // Ends a snapshot that nobody has asked for in SnapshotStore::kIdle.
  Task<> EndIdleSnapshot(MonotonicTime now);

  uint32_t server() const { return options_.server; }
  const MemoryBudget& budget() const { return *budget_; }
  const std::shared_ptr<FileSystem>& checkpoints() const {
    return options_.checkpoints;
  }
  const Executor& disk() const { return options_.disk; }
  // Memory for an answer, which counts until the last copy is gone.
  // ResourceExhausted if it can never be had, Unavailable if not now.
  absl::StatusOr<std::shared_ptr<Values>> AllocateAnswer(uint64_t bytes) const;
  uint64_t term() const { return term_.load(std::memory_order_relaxed); }
  uint64_t fenced() const { return fenced_.load(std::memory_order_relaxed); }

 private:
  // OK if `generation` is `mine`.
  absl::Status CompareGenerations(uint64_t generation, uint64_t mine);
  // Takes note of the term of a call, if it is the chief's.
  absl::Status RaiseTerm(uint64_t term, const ServerCall& call);
  // OK if `term` is the one.
  absl::Status CheckTerm(uint64_t term);
  absl::Status Fenced(const std::string& what);
  // The table of `request`, with the shards that are here already.
  absl::StatusOr<std::shared_ptr<ShardTable>> NewTable(
      const InstallRequest& request, const ServerCall& call);
  // Those of the shards that stay, as `table` has them. InvalidArgument if one
  // is more than another learning rate.
  using NewUpdaters = std::vector<
      std::pair<std::shared_ptr<Shard>, std::shared_ptr<const Updater>>>;
  static absl::StatusOr<NewUpdaters> ChangedUpdaters(const ShardTable& table);
  // Gives back memory that the shards keep for later, or need no more.
  Task<> FreeSpares();
  // Creates and fills the shards that `table` has not.
  Task<absl::Status> CreateShards(ShardTable& table);
  Task<absl::Status> Replace(const InstallRequest& request,
                             const ServerCall& call);
  // Makes `table` the one, and drops the shards that it has not; if `term` is
  // still the one.
  Task<absl::Status> Publish(std::shared_ptr<ShardTable> table, uint64_t term);

  const StoreOptions options_;
  const std::shared_ptr<MemoryBudget> budget_;
  const std::shared_ptr<MemoryBudget> answers_;
  // All change with the mutex: once a new coordinator has been heard of, what
  // it is told of the map stays true until it changes the map itself.
  Published<ShardTable> table_;
  // That of the table; changes after it.
  std::atomic<uint64_t> generation_ = 0;
  std::atomic<uint64_t> term_ = 0;
  std::atomic<uint64_t> fenced_ = 0;

  std::mutex mutex_;
  bool installing_ = false;  // guarded by mutex_
};

}  // namespace capstan
