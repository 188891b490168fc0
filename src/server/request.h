// What the verbs have in common: finding the shards that a request names, and
// checking what it brings.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/async/clock.h"
#include "base/async/task.h"
#include "base/status.h"
#include "server/store.h"
#include "server/verbs.h"
#include "wire/parameter.h"
#include "wire/service.h"

namespace capstan {

ServerReply ErrorReply(absl::Status status);

// A request as it concerns this server.
struct ShardsCall {
  ShardsRequest request;
  Store* store = nullptr;
  // Keeps the generation that it belongs to, and the shard of each part.
  TablePtr table;
  Generation* generation = nullptr;
  std::vector<Shard*> shards;
  // Of an update: when it began to arrive, on this clock.
  Clock* clock = nullptr;
  MonotonicTime began;
};

// Reads the body and finds the shards. InvalidArgument if the body is none;
// as Store::CheckGeneration; Aborted if a shard is not here and the caller's
// map is older than this server's; Unavailable if it is newer.
absl::StatusOr<ShardsCall> FindShards(Store& store, const ServerCall& call);
absl::StatusOr<Shard*> FindShard(const ShardTable& table, const ShardKey& key,
                                 uint64_t map_version);

// The same for an update: as Store::Admit; InvalidArgument for a step that no
// coordinator can have given it.
absl::StatusOr<ShardsCall> FindUpdated(VerbContext& context,
                                       const ServerCall& call);

// Waits until the round of the request may read these shards: see UpdateMode.
// DeadlineExceeded, naming what was waited for, shortly before the caller
// gives up.
Task<absl::Status> AwaitRound(Clock& clock, ServerCall& call,
                              const ShardsCall& shards);

// OK if `values` can be an update of part `i`: its dtype and operation fit the
// variable, and it has `rows` rows. Else InvalidArgument, naming all.
absl::Status CheckUpdate(const ShardsCall& call, size_t i, uint64_t rows,
                         uint64_t value_bytes);

// Whether the values of part `i` are to be skipped for not being finite.
// InvalidArgument, naming the variable, the shard and the element (of the whole
// variable, in its row), if they are to be refused. `rows` are those of the
// values if there are, else they begin with element `offset` of the shard.
absl::StatusOr<bool> CheckFinite(const ShardsCall& call, size_t i, Bytes values,
                                 std::span<const uint32_t> rows, size_t offset);

// OK if all `rows` are rows of `shard`. Else OutOfRange, naming the row of the
// variable and its position.
absl::Status CheckRows(const Shard& shard, std::span<const uint32_t> rows);

// OK if [begin, end) are rows of `shard` and `part` is its values (0) or one of
// its slots. Else OutOfRange, naming all.
absl::Status CheckRange(const Shard& shard, uint32_t part, uint64_t begin,
                        uint64_t end);

// The attachments of a call, received whole: those of the request, one after
// the other, each aligned to 8 bytes.
class Attachments {
 public:
  static Task<absl::StatusOr<Attachments>> Receive(ServerCall& call);
  Bytes operator[](size_t i) const { return views_[i]; }
  // Attachment `i` as rows; its size must be a multiple of 4.
  std::span<const uint32_t> Rows(size_t i) const {
    return {reinterpret_cast<const uint32_t*>(views_[i].data()),
            views_[i].size() / sizeof(uint32_t)};
  }

 private:
  Buffer received_;
  std::vector<Buffer> aligned_;  // copies of those that were not
  std::vector<Bytes> views_;
};

// In the turn of shard `i`: applies `update` to it, if the sender's term is
// still the one. It was when the request came; but that may be long ago, and
// once a new coordinator has asked what was applied, nothing may change it but
// by its will.
ShardResult ApplyFenced(const ShardsCall& found, size_t i,
                        const ShardUpdate& update, const Executor& home);

// For an update that has arrived whole just now: how long it waits for others
// that are still arriving. As long again as it took itself; then they are to be
// sent again, so that one slow sender does not hold up all
// (docs/decisions/024).
MonotonicTime PatientUntil(const ShardsCall& found);

// As ApplyFenced, from outside of the turn. Waits for an update that is under
// way; until `patient_until` for one that is still arriving. Cancelled if the
// caller goes away before.
Task<ShardResult> ApplyInTurn(const ShardsCall& found, size_t i,
                              const ShardUpdate& update,
                              MonotonicTime patient_until, ServerCall& call);

// The answer to an update: what became of each part and, if they are wanted,
// the values after it.
class UpdateAnswer {
 public:
  explicit UpdateAnswer(const ShardsCall& found);
  // The next part is done. Others may have changed the shard since: the values
  // are at least as new as the update. Aborted if it was dropped meanwhile and
  // its values are wanted, so that the caller looks where they are now.
  Task<absl::Status> Add(Shard& shard, const ShardResult& result);
  ServerReply Take();

 private:
  const bool want_values_;
  ShardsReply answer_;
  std::shared_ptr<std::vector<Lease>> leases_;
};

// Applies one update to each shard of `found`, and answers what became of them.
// The first error is the answer.
Task<ServerReply> ApplyAll(const ShardsCall& found,
                           std::vector<ShardUpdate> updates, ServerCall& call);

// Counts an update that was refused for its values.
Task<> CountRefused(Shard& shard);

}  // namespace capstan
