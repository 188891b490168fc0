// What a parameter server holds: its shards, the job's shard map, and the
// generation and term that it accepts.
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

// What belongs to one generation and ends with it. Thread-safe.
struct Generation {
  uint64_t number = 0;
  std::atomic<uint64_t> watermark = 0;
  Rounds rounds;
  SnapshotStore snapshots;
  StagingArea staging;
  // The highest step of the shards that were dropped.
  std::atomic<uint64_t> last_step = 0;

  std::mutex mutex;
  // Changes together with `watermark`, which is also written under the mutex.
  std::string record;  // guarded by mutex
};

// One version of the shard map, with the shards that it places on this server.
// Immutable, except for the contents of the shards and the generation.
struct ShardTable {
  ShardMap map;
  std::string encoded_map;
  std::shared_ptr<Generation> generation;
  // Ordered, so that code that enters one turn after another does so in the
  // same order in every run.
  absl::btree_map<ShardKey, std::shared_ptr<Shard>> shards;

  // Null if it is not here.
  Shard* Find(const ShardKey& key) const;
};

// A call keeps the table that it works with, and thereby the shards and the
// generation, until it ends. A table that was replaced is freed when no call
// uses it.
using TablePtr = std::shared_ptr<const ShardTable>;

struct StoreOptions {
  uint32_t server = 0;  // index of this server
  uint64_t memory_limit = UINT64_MAX;
  // Limit on the memory of answers that are copies, such as rows, until they
  // are sent.
  uint64_t answer_limit = uint64_t{2} << 30;
  // Where checkpoints are written and read. Null: nowhere; the coordinator
  // writes and reads them.
  std::shared_ptr<FileSystem> checkpoints;
  // For blocking work. Its thread must be stopped before the executors that
  // serve calls are destroyed. Empty: the work is done where the call is
  // served.
  Executor disk;
};

// Thread-safe.
class Store {
 public:
  explicit Store(StoreOptions options);

  // The current table. Takes no lock.
  TablePtr table() const { return table_.Load(); }

  // OK if a call with `fence` may begin and work with `table`.
  // FailedPrecondition, "fenced", if its generation or term is older;
  // Unavailable if this server does not know its generation or term yet. Only a
  // call of the chief can raise the term; InvalidArgument for a number that
  // cannot be a term.
  absl::Status Admit(const Fence& fence, const ShardTable& table,
                     const ServerCall& call);
  // Checks the fence again for a call that was admitted before: a coordinator
  // may have taken over since.
  absl::Status CheckFence(const Fence& fence);
  // The same for a caller that only reads and has no term.
  absl::Status CheckGeneration(uint64_t generation);
  // The same if the call reads `table`.
  absl::Status CheckGeneration(uint64_t generation, const ShardTable& table);

  // Installs a shard map, as described for InstallRequest. Yields to other work
  // of the executor while it fills the shards. Unavailable while another map is
  // being installed. Terms as in Admit.
  Task<absl::Status> Install(InstallRequest request, const ServerCall& call);

  // Moves the watermark forward, and stores its record.
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
  // ResourceExhausted if that much can never be available, Unavailable if it is
  // not available now.
  absl::StatusOr<std::shared_ptr<Values>> AllocateAnswer(uint64_t bytes) const;
  uint64_t term() const { return term_.load(std::memory_order_relaxed); }
  uint64_t fenced() const { return fenced_.load(std::memory_order_relaxed); }

 private:
  // OK if `generation` is `mine`.
  absl::Status CompareGenerations(uint64_t generation, uint64_t mine);
  // Raises the term to that of a call, if the call is the chief's.
  absl::Status RaiseTerm(uint64_t term, const ServerCall& call);
  // OK if `term` is the current one.
  absl::Status CheckTerm(uint64_t term);
  absl::Status Fenced(const std::string& what);
  // The table for `request`, with the shards that exist already.
  absl::StatusOr<std::shared_ptr<ShardTable>> NewTable(
      const InstallRequest& request, const ServerCall& call);
  // The new updaters of the shards that stay in `table`. InvalidArgument if
  // more than a learning rate changes.
  using NewUpdaters = std::vector<
      std::pair<std::shared_ptr<Shard>, std::shared_ptr<const Updater>>>;
  static absl::StatusOr<NewUpdaters> ChangedUpdaters(const ShardTable& table);
  // Frees memory that the shards keep for later or no longer need.
  Task<> FreeSpares();
  // Creates and fills the shards that `table` lacks.
  Task<absl::Status> CreateShards(ShardTable& table);
  Task<absl::Status> Replace(const InstallRequest& request,
                             const ServerCall& call);
  // Makes `table` the current one and drops the shards that it does not have,
  // if `term` is still current.
  Task<absl::Status> Publish(std::shared_ptr<ShardTable> table, uint64_t term);

  const StoreOptions options_;
  const std::shared_ptr<MemoryBudget> budget_;
  const std::shared_ptr<MemoryBudget> answers_;
  // These change only with the mutex held: once this server knows of a new
  // coordinator, what that coordinator reads of the map stays true until it
  // changes the map itself.
  Published<ShardTable> table_;
  // The generation of the table; changes after the table.
  std::atomic<uint64_t> generation_ = 0;
  std::atomic<uint64_t> term_ = 0;
  std::atomic<uint64_t> fenced_ = 0;

  std::mutex mutex_;
  bool installing_ = false;  // guarded by mutex_
};

}  // namespace capstan
