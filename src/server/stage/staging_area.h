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

// Thread-safe. There is one restore at a time: another id takes its place.
class StagingArea {
 public:
  // What is staged for `shard`, made if there is nothing yet. Null if that
  // restore was committed already. Unavailable while one is being committed,
  // and after Close.
  absl::StatusOr<std::shared_ptr<StagedShard>> Open(uint64_t restore_id,
                                                    const Shard& shard);

  // Begins to commit: EndCommit must follow, unless that was done already
  // (false). Errors as of Open.
  absl::StatusOr<bool> BeginCommit(uint64_t restore_id);
  // What is staged for `shard`; null if nothing is.
  std::shared_ptr<StagedShard> Find(const ShardKey& key);
  // `done`: it is over, and nothing of it is left. Else as before.
  void EndCommit(bool done);

  // Forgets what is staged; 0: for whichever restore. Nothing if another one
  // is, or it is being committed.
  void Drop(uint64_t restore_id);
  // Lets go of all for good, with the generation.
  void Close();

 private:
  using Shards = std::map<ShardKey, std::shared_ptr<StagedShard>>;
  absl::Status CheckFree() const;
  // What is to be closed without the lock.
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
