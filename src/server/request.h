// What the verbs share: finding the shards that a request names, and checking
// its contents.
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

// A request, with the shards that it names on this server.
struct ShardsCall {
  ShardsRequest request;
  Store* store = nullptr;
  // Keeps alive the generation and the shard of each part.
  TablePtr table;
  Generation* generation = nullptr;
  std::vector<Shard*> shards;
  // For an update: when it began to arrive, on this clock.
  Clock* clock = nullptr;
  MonotonicTime began;
};

// Decodes the body and finds the shards. InvalidArgument if the body is
// malformed; errors of Store::CheckGeneration; Aborted if a shard is not here
// and the caller's map is older than this server's; Unavailable if it is newer.
absl::StatusOr<ShardsCall> FindShards(Store& store, const ServerCall& call);
absl::StatusOr<Shard*> FindShard(const ShardTable& table, const ShardKey& key,
                                 uint64_t map_version);

// The same for an update. Errors of Store::Admit; InvalidArgument for a step
// that no coordinator can have issued.
absl::StatusOr<ShardsCall> FindUpdated(VerbContext& context,
                                       const ServerCall& call);

// Waits until the round of the request may read these shards; see UpdateMode.
// DeadlineExceeded, naming what it was waiting for, shortly before the caller
// gives up.
Task<absl::Status> AwaitRound(Clock& clock, ServerCall& call,
                              const ShardsCall& shards);

// OK if an attachment of `value_bytes` can update part `i`: its dtype and
// operation fit the variable, and it has `rows` rows. Else InvalidArgument,
// naming all of these.
absl::Status CheckUpdate(const ShardsCall& call, size_t i, uint64_t rows,
                         uint64_t value_bytes);

// Whether to skip the values of part `i` because they are not finite.
// InvalidArgument if they are to be refused, naming the variable, the shard and
// the element (of the whole variable, in its row). If `rows` is not empty, it
// has the rows of the values; else they begin with element `offset` of the
// shard.
absl::StatusOr<bool> CheckFinite(const ShardsCall& call, size_t i, Bytes values,
                                 std::span<const uint32_t> rows, size_t offset);

// OK if all `rows` are rows of `shard`. Else OutOfRange, naming the row of the
// variable and its position.
absl::Status CheckRows(const Shard& shard, std::span<const uint32_t> rows);

// OK if [begin, end) are rows of `shard` and `part` is its values (0) or one of
// its slots. Else OutOfRange, naming all of these.
absl::Status CheckRange(const Shard& shard, uint32_t part, uint64_t begin,
                        uint64_t end);

// The attachments of a request, received whole, one after another; each is
// aligned to 8 bytes.
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

// In the turn of shard `i`: applies `update` if the sender's term is still the
// current one. It was current when the request came, but that may be long ago,
// and once a new coordinator has asked what was applied, only that coordinator
// may change it.
ShardResult ApplyFenced(const ShardsCall& found, size_t i,
                        const ShardUpdate& update, const Executor& home);

// For an update that has just arrived whole: how long it waits for others that
// are still arriving. That is as long as it took to arrive itself; after that
// the others must be sent again, so that one slow sender does not hold up
// everybody (docs/decisions/024).
MonotonicTime PatientUntil(const ShardsCall& found);

// Like ApplyFenced, from outside the turn. Waits for an update that is under
// way; for one that is still arriving only until `patient_until`. Cancelled if
// the caller goes away first.
Task<ShardResult> ApplyInTurn(const ShardsCall& found, size_t i,
                              const ShardUpdate& update,
                              MonotonicTime patient_until, ServerCall& call);

// The answer to an update: the outcome for each part and, if wanted, the values
// after it.
class UpdateAnswer {
 public:
  explicit UpdateAnswer(const ShardsCall& found);
  // Adds the next part. The shard may have changed since: the values are at
  // least as new as the update. Aborted if the shard was dropped in the
  // meantime and its values are wanted, so that the caller looks up where they
  // are now.
  Task<absl::Status> Add(Shard& shard, const ShardResult& result);
  ServerReply Take();

 private:
  const bool want_values_;
  ShardsReply answer_;
  std::shared_ptr<std::vector<Lease>> leases_;
};

// Applies one update to each shard of `found`, and answers with the outcomes,
// or with the first error.
Task<ServerReply> ApplyAll(const ShardsCall& found,
                           std::vector<ShardUpdate> updates, ServerCall& call);

// Counts an update that was refused because of its values.
Task<> CountRefused(Shard& shard);

}  // namespace capstan
