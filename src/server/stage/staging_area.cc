#include "server/stage/staging_area.h"

#include <utility>

namespace capstan {

absl::Status StagingArea::CheckFree() const {
  if (!committing_ && !closed_) return absl::OkStatus();
  return absl::UnavailableError(
      "a restore is being committed, or dropped with its generation; try "
      "again");
}

StagingArea::Shards StagingArea::Clear() {
  restore_id_ = 0;
  return std::exchange(shards_, {});
}

void StagingArea::CloseAll(const Shards& shards) {
  for (const auto& [key, shard] : shards) shard->Close();
}

absl::StatusOr<std::shared_ptr<StagedShard>> StagingArea::Open(
    uint64_t restore_id, const Shard& shard) {
  Shards old;
  std::shared_ptr<StagedShard> staged;
  {
    const std::lock_guard lock(mutex_);
    CAPSTAN_RETURN_IF_ERROR(CheckFree());
    if (restore_id == committed_) return staged;
    if (restore_id != restore_id_) {
      old = Clear();
      restore_id_ = restore_id;
    }
    std::shared_ptr<StagedShard>& place = shards_[shard.key()];
    if (place == nullptr) place = std::make_shared<StagedShard>(shard);
    staged = place;
  }
  CloseAll(old);
  return staged;
}

absl::StatusOr<bool> StagingArea::BeginCommit(uint64_t restore_id) {
  Shards old;
  {
    const std::lock_guard lock(mutex_);
    CAPSTAN_RETURN_IF_ERROR(CheckFree());
    if (restore_id == committed_) return false;
    if (restore_id != restore_id_) {
      old = Clear();
      restore_id_ = restore_id;
    }
    committing_ = true;
  }
  CloseAll(old);
  return true;
}

std::shared_ptr<StagedShard> StagingArea::Find(const ShardKey& key) {
  const std::lock_guard lock(mutex_);
  const auto found = shards_.find(key);
  return found == shards_.end() ? nullptr : found->second;
}

void StagingArea::EndCommit(bool done) {
  Shards over;
  {
    const std::lock_guard lock(mutex_);
    committing_ = false;
    if (done) {
      committed_ = restore_id_;
      over = Clear();
    }
  }
  CloseAll(over);
}

void StagingArea::Drop(uint64_t restore_id) {
  Shards dropped;
  {
    const std::lock_guard lock(mutex_);
    if (committing_) return;
    if (restore_id == 0 || restore_id == restore_id_) dropped = Clear();
  }
  CloseAll(dropped);
}

void StagingArea::Close() {
  Shards dropped;
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    dropped = Clear();
  }
  CloseAll(dropped);
}

}  // namespace capstan
