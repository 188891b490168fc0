#include "server/snapshot_store.h"

#include <algorithm>
#include <asio/this_coro.hpp>
#include <utility>

#include "absl/strings/str_cat.h"

namespace capstan {

const HeldShard* Snapshot::Find(const ShardKey& key) const {
  const auto found =
      std::lower_bound(shards.begin(), shards.end(), key,
                       [](const HeldShard& held, const ShardKey& wanted) {
                         return held.hold.info.key < wanted;
                       });
  if (found == shards.end() || found->hold.info.key != key) return nullptr;
  return &*found;
}

Task<> EndSnapshot(SnapshotPtr snapshot) {
  const Executor home = co_await asio::this_coro::executor;
  for (const HeldShard& held : snapshot->shards) {
    Shard& shard = *held.shard;
    TurnEntry entry(home, [&] { shard.EndSnapshot(held.hold); });
    if (!shard.turn().Enter(entry)) co_await entry.Done();
  }
}

absl::Status SnapshotStore::CheckThere(uint64_t save_id) const {
  if (snapshot_ != nullptr && snapshot_->save_id == save_id) {
    return absl::OkStatus();
  }
  return absl::NotFoundError(absl::StrCat(
      "this server has no snapshot ", save_id,
      snapshot_ == nullptr ? std::string()
                           : absl::StrCat(", but ", snapshot_->save_id),
      ": it was dropped, replaced or not asked for in ",
      std::chrono::floor<std::chrono::minutes>(kIdle).count(), " minutes"));
}

absl::StatusOr<SnapshotStore::Begun> SnapshotStore::Begin(uint64_t save_id,
                                                          MonotonicTime now) {
  const std::lock_guard lock(mutex_);
  if (making_ || closed_) {
    return absl::UnavailableError(
        "a snapshot is being made, or dropped with its generation; try again");
  }
  Begun begun;
  if (snapshot_ != nullptr && snapshot_->save_id == save_id) {
    last_used_ = now;
    begun.same = snapshot_;
    return begun;
  }
  begun.old = std::exchange(snapshot_, nullptr);
  making_ = true;
  return begun;
}

absl::Status SnapshotStore::Finish(SnapshotPtr snapshot, MonotonicTime now) {
  const std::lock_guard lock(mutex_);
  making_ = false;
  if (closed_) {
    return absl::UnavailableError(
        "the generation ended while its snapshot was made");
  }
  snapshot_ = std::move(snapshot);
  written_path_.clear();
  last_used_ = now;
  return absl::OkStatus();
}

void SnapshotStore::Abandon() {
  const std::lock_guard lock(mutex_);
  making_ = false;
}

absl::StatusOr<SnapshotPtr> SnapshotStore::Get(uint64_t save_id,
                                               MonotonicTime now) {
  const std::lock_guard lock(mutex_);
  CAPSTAN_RETURN_IF_ERROR(CheckThere(save_id));
  last_used_ = now;
  return snapshot_;
}

SnapshotPtr SnapshotStore::TakeIdle(MonotonicTime now) {
  const std::lock_guard lock(mutex_);
  if (snapshot_ == nullptr || writing_ == snapshot_->save_id ||
      now - last_used_ < kIdle) {
    return nullptr;
  }
  return std::exchange(snapshot_, nullptr);
}

SnapshotPtr SnapshotStore::Take(uint64_t save_id) {
  const std::lock_guard lock(mutex_);
  if (!CheckThere(save_id).ok()) return nullptr;
  return std::exchange(snapshot_, nullptr);
}

absl::StatusOr<std::optional<SnapshotWriteReply>> SnapshotStore::BeginWrite(
    uint64_t save_id, const std::string& path, std::optional<uint64_t> size) {
  const std::lock_guard lock(mutex_);
  CAPSTAN_RETURN_IF_ERROR(CheckThere(save_id));
  if (writing_ != 0) {
    return absl::UnavailableError("a snapshot is being written; try again");
  }
  std::optional<SnapshotWriteReply> done;
  if (written_path_ == path && size == written_.bytes) {
    done = written_;
  } else {
    writing_ = save_id;
  }
  return done;
}

void SnapshotStore::EndWrite(uint64_t save_id, const std::string& path,
                             std::optional<SnapshotWriteReply> written,
                             MonotonicTime now) {
  const std::lock_guard lock(mutex_);
  writing_ = 0;
  if (!CheckThere(save_id).ok()) return;
  last_used_ = now;
  if (!written) return;
  written_path_ = path;
  written_ = *std::move(written);
}

void SnapshotStore::Close() {
  SnapshotPtr gone;  // freed without the lock
  const std::lock_guard lock(mutex_);
  closed_ = true;
  gone = std::exchange(snapshot_, nullptr);
}

}  // namespace capstan
