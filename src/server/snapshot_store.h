// The snapshot of a server: all its shards as they were at one moment. The
// store keeps one at a time.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/async/clock.h"
#include "base/async/task.h"
#include "base/status.h"
#include "server/shard/shard.h"
#include "wire/snapshot.h"

namespace capstan {

struct HeldShard {
  std::shared_ptr<Shard> shard;
  ShardHold hold;
};

// Immutable once it is in the store. May outlive the store, as its bytes may
// still be in transit.
struct Snapshot {
  uint64_t save_id = 0;
  SnapshotReply reply;
  std::vector<HeldShard> shards;  // ascending by key

  // Null if the shard is not in the snapshot.
  const HeldShard* Find(const ShardKey& key) const;
};
using SnapshotPtr = std::shared_ptr<const Snapshot>;

// Tells the shards, in their turns, that `snapshot` is about to be destroyed.
Task<> EndSnapshot(SnapshotPtr snapshot);

// Thread-safe. The caller must end any snapshot that it removes from the store.
class SnapshotStore {
 public:
  // A snapshot that nobody has asked for in this time is dropped: its
  // coordinator is gone, and it uses memory.
  static constexpr Duration kIdle = std::chrono::minutes(10);

  // Begins to make snapshot `save_id`: Finish or Abandon must follow, unless
  // the snapshot exists already. Unavailable while one is being made, and after
  // Close.
  struct Begun {
    SnapshotPtr same;  // it exists already
    SnapshotPtr old;   // another one, which was removed from the store
  };
  absl::StatusOr<Begun> Begin(uint64_t save_id, MonotonicTime now);
  // Unavailable after Close.
  absl::Status Finish(SnapshotPtr snapshot, MonotonicTime now);
  void Abandon();

  // NotFound if there is no such snapshot.
  absl::StatusOr<SnapshotPtr> Get(uint64_t save_id, MonotonicTime now);
  // Removes a snapshot that is idle. Null if there is none or it is being
  // written.
  SnapshotPtr TakeIdle(MonotonicTime now);
  // Removes it. Null if it does not exist. A write that is under way finds it
  // gone.
  SnapshotPtr Take(uint64_t save_id);

  // Begins to write the snapshot to `path`, where there is a file of `size`
  // bytes or none. EndWrite must follow, unless an earlier call has written
  // that file; then its result is returned. NotFound if there is no such
  // snapshot; Unavailable while another call is writing it.
  absl::StatusOr<std::optional<SnapshotWriteReply>> BeginWrite(
      uint64_t save_id, const std::string& path, std::optional<uint64_t> size);
  // With what was written, if that succeeded.
  void EndWrite(uint64_t save_id, const std::string& path,
                std::optional<SnapshotWriteReply> written, MonotonicTime now);

  // Releases the snapshot for good; the generation has ended.
  void Close();

 private:
  absl::Status CheckThere(uint64_t save_id) const;

  std::mutex mutex_;
  SnapshotPtr snapshot_;
  bool making_ = false;
  uint64_t writing_ = 0;  // the save id; 0: none
  bool closed_ = false;
  MonotonicTime last_used_;
  std::string written_path_;  // of snapshot_
  SnapshotWriteReply written_;
};

}  // namespace capstan
