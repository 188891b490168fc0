// The restore that is under way on a server: what is staged for its shards.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

#include "base/status.h"
#include "server/shard/shard.h"
#include "server/stage/staged_shard.h"
#include "wire/parameter.h"

namespace capstan {

// Thread-safe. There is one restore at a time: another id replaces it.
class StagingArea {
 public:
  // What is staged for `shard`, created if there is nothing yet. Null if that
  // restore was committed already. Unavailable while a restore is being
  // committed, and after Close.
  absl::StatusOr<std::shared_ptr<StagedShard>> Open(uint64_t restore_id,
                                                    const Shard& shard);

  // Begins to commit: EndCommit must follow. False if the restore was committed
  // already; EndCommit must then not follow. Errors as of Open.
  absl::StatusOr<bool> BeginCommit(uint64_t restore_id);
  // What is staged for `shard`; null if nothing is.
  std::shared_ptr<StagedShard> Find(const ShardKey& key);
  // `done`: the restore was committed, and nothing of it is kept. Else
  // everything is as before BeginCommit.
  void EndCommit(bool done);

  // Drops what is staged for the restore; 0: for any restore. Does nothing if
  // another one is staged or it is being committed.
  void Drop(uint64_t restore_id);
  // Releases everything for good; the generation has ended.
  void Close();

 private:
  using Shards = std::map<ShardKey, std::shared_ptr<StagedShard>>;
  absl::Status CheckFree() const;
  // Returns the shards to be closed without the lock.
  [[nodiscard]] Shards Clear();
  static void CloseAll(const Shards& shards);

  std::mutex mutex_;
  uint64_t restore_id_ = 0;  // 0: none
  uint64_t committed_ = 0;   // the last that was
  bool committing_ = false;
  bool closed_ = false;
  Shards shards_;
};

}  // namespace capstan
