// The snapshot of a server: all its shards as they were at one moment. There is
// one at a time, which the store keeps.
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

// Immutable once it is on the store. May outlive the store, as its bytes may
// still be on their way.
struct Snapshot {
  uint64_t save_id = 0;
  SnapshotReply reply;
  std::vector<HeldShard> shards;  // ascending by key

  // Null if it has none.
  const HeldShard* Find(const ShardKey& key) const;
};
using SnapshotPtr = std::shared_ptr<const Snapshot>;

// Tells the shards, in their turns, that `snapshot` will be gone soon.
Task<> EndSnapshot(SnapshotPtr snapshot);

// Thread-safe. Whatever is taken off the store is for the caller to end.
class SnapshotStore {
 public:
  // A snapshot that nobody has asked about for this long is given up: its
  // coordinator is gone, and it holds memory.
  static constexpr Duration kIdle = std::chrono::minutes(10);

  // Begins to make `save_id`: Finish or Abandon must follow, unless it is there
  // already. Unavailable while one is being made, and after Close.
  struct Begun {
    SnapshotPtr same;  // it is there already
    SnapshotPtr old;   // another one that was there: it is taken off
  };
  absl::StatusOr<Begun> Begin(uint64_t save_id, MonotonicTime now);
  // Unavailable after Close.
  absl::Status Finish(SnapshotPtr snapshot, MonotonicTime now);
  void Abandon();

  // NotFound if it is not there.
  absl::StatusOr<SnapshotPtr> Get(uint64_t save_id, MonotonicTime now);
  // Null if it is not there, or is being written.
  SnapshotPtr TakeIdle(MonotonicTime now);
  // Takes it off. Null if it is not there. Whoever writes it finds it gone.
  SnapshotPtr Take(uint64_t save_id);

  // Begins to write it to `path`, where there is a file of `size` bytes or
  // none: EndWrite must follow, unless that file is what an earlier call has
  // written, with this result. NotFound if it is not there; Unavailable while
  // another call writes it.
  absl::StatusOr<std::optional<SnapshotWriteReply>> BeginWrite(
      uint64_t save_id, const std::string& path, std::optional<uint64_t> size);
  // With what was written, if all went well.
  void EndWrite(uint64_t save_id, const std::string& path,
                std::optional<SnapshotWriteReply> written, MonotonicTime now);

  // Lets go of it for good, with the generation.
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
