// What clients ask of a parameter server, and what it answers: the bodies.
// Values travel as attachments, one or two for each shard of the request, in
// its order. docs/consistency.md says what the answers promise.
// Thread-safe: values and pure functions.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "capstan/tensor.h"
#include "capstan/variable.h"

namespace capstan {

struct ShardKey {
  uint32_t variable = 0;  // VariableEntry::id
  uint32_t shard = 0;     // which of its shards
  friend auto operator<=>(const ShardKey&, const ShardKey&) = default;
  template <typename H>
  friend H AbslHashValue(H hash, const ShardKey& key) {
    return H::combine(std::move(hash), key.variable, key.shard);
  }
};

// Which history of the job a caller belongs to. A server refuses requests from
// an older one: a rollback starts a new generation, a coordinator that takes
// over starts a new term.
struct Fence {
  uint64_t generation = 0;
  uint64_t term = 0;
  friend bool operator==(const Fence&, const Fence&) = default;
};

// Names an update forever: no matter who sends it, or how often, a shard
// applies it once.
struct UpdateId {
  Fence fence;
  uint64_t step = 0;  // the coordinator's number of the step, from 1
  uint32_t push = 0;  // which update of the step
  // The step's place in synchronous and bounded training: see UpdateMode.
  uint64_t round = 0;  // from 1; 0: in no round
  uint32_t replica = 0;
  friend bool operator==(const UpdateId&, const UpdateId&) = default;
};

// How many values Operation has.
inline constexpr uint32_t kOperations = 8;
// "gradient", "set", ...
std::string_view OperationName(Operation operation);

// A shard in a request.
struct ShardPart {
  ShardKey key;
  // kPull, kGather: the version that the caller has; 0 for none. Updates: the
  // version that the update was computed from; 0 if unknown.
  uint64_t version = 0;
  DType dtype = DType::kF32;  // of an update's values
  float scale = 1;            // the gradient is multiplied by it
  friend bool operator==(const ShardPart&, const ShardPart&) = default;
};

// Body of kPull, kPush, kGather and kScatter; the parts ascend by key.
//   kPull     attachments: none. The answer has the values of each part, or
//             nothing if the shard is not newer than the part's version.
//   kPush     one each: the values of the whole shard, for `operation`. The
//             answer has the values after it if want_values is set.
//   kGather   one each: rows (u32, counted from the shard's first). The answer
//             has their values.
//   kScatter  two each: rows, and their values for `operation`.
struct ShardsRequest {
  UpdateId id;  // kPull and kGather: fence.generation and round only
  uint64_t map_version = 0;
  Operation operation = Operation::kGradient;
  bool want_values = false;  // kPush
  std::vector<ShardPart> parts;
  friend bool operator==(const ShardsRequest&, const ShardsRequest&) = default;
};

// The outcome of an update. The numbers are on the wire.
enum class Outcome : uint8_t {
  kApplied = 0,
  kAlreadyApplied = 1,
  kStaged = 2,   // synchronous: waits for the commit of its round
  kSkipped = 3,  // not finite, and the variable skips such updates
  kDropped = 4,  // synchronous: the round was committed without it
};
inline constexpr uint32_t kOutcomes = 5;

struct ShardsReply {
  std::vector<uint64_t> versions;  // one per part
  std::vector<Outcome> outcomes;   // of an update: one per part
  friend bool operator==(const ShardsReply&, const ShardsReply&) = default;
};

// Body of kRead: rows [begin, end) of one shard, counted from its first, as one
// attachment. `slot` 0 means the values, i the optimizer's i-th slot. The
// answer is a ShardsReply with the version.
struct ReadRequest {
  uint64_t generation = 0;
  uint64_t map_version = 0;
  ShardKey key;
  uint64_t begin = 0;
  uint64_t end = 0;
  uint32_t slot = 0;
  friend bool operator==(const ReadRequest&, const ReadRequest&) = default;
};

// Body of kCommit: the contributions of `replicas` to `round` become one update
// of each shard; without replicas the round is abandoned. Of kTick: these
// replicas have made all their updates of `round`.
struct RoundRequest {
  Fence fence;
  uint64_t round = 0;
  std::vector<uint32_t> replicas;
  friend bool operator==(const RoundRequest&, const RoundRequest&) = default;
};

// The most bytes that a record may have. Records mean something to the
// coordinator alone; the servers keep them for the coordinator that takes over.
inline constexpr uint64_t kMaxRecordBytes = 1 << 20;

// Body of kWatermark: every step up to `watermark` is applied on every shard
// that it concerns, and acknowledged; no sender still needs an answer about it.
// A request whose watermark is at least the server's replaces the server's
// record too, unless the request's record is empty.
struct WatermarkRequest {
  Fence fence;
  uint64_t watermark = 0;
  std::string record = {};
  friend bool operator==(const WatermarkRequest&,
                         const WatermarkRequest&) = default;
};

// Body of kInstall: the job's shard map (wire/shard_map_codec.h). The server
// creates the shards that the map assigns to it and drops those that it does
// not. A map of a new generation starts from nothing.
struct InstallRequest {
  uint64_t term = 0;
  uint64_t watermark = 0;  // of a new generation
  std::string map;
  std::string record = {};  // of a new generation
  // A map of this generation was installed before: a server that has none was
  // restarted since, and must not create its variables again.
  bool follows = false;
  friend bool operator==(const InstallRequest&,
                         const InstallRequest&) = default;
};

// How stale the updates were: bucket 0 counts those computed from the newest
// values, bucket i those that had missed [2^(i-1), 2^i) updates, the last
// bucket all that were staler.
using StalenessHistogram = std::array<uint64_t, 16>;

struct VariableReport {
  std::string name;
  uint32_t shard = 0;
  uint64_t bytes = 0;  // including the slots
  uint64_t version = 0;
  uint64_t applied = 0;
  uint64_t duplicates = 0;
  uint64_t dropped = 0;
  uint64_t skipped = 0;
  uint64_t refused = 0;  // because values are not finite
  StalenessHistogram staleness{};
  friend bool operator==(const VariableReport&,
                         const VariableReport&) = default;
};

// Answer to kStoreStatus.
struct StoreReport {
  Fence fence;
  uint64_t map_version = 0;
  uint64_t watermark = 0;
  uint64_t committed_round = 0;              // perhaps not yet by all shards
  std::vector<uint32_t> committed_replicas;  // whose contributions it includes
  uint64_t bytes_used = 0;
  uint64_t bytes_limit = 0;
  uint64_t fenced = 0;  // requests from an older generation or term
  // The highest step from which a shard has an update, applied or waiting for
  // its round; 0 if there is none.
  uint64_t last_step = 0;
  std::string record = {};  // came with `watermark` or an earlier one
  std::vector<uint32_t> left_out = {};  // of its shard map
  std::vector<VariableReport> variables;
  friend bool operator==(const StoreReport&, const StoreReport&) = default;
};

// Decoding fails with InvalidArgument, and checks the form, not whether such a
// shard exists.
std::string EncodeShardsRequest(const ShardsRequest& request);
absl::StatusOr<ShardsRequest> DecodeShardsRequest(std::string_view body);
std::string EncodeShardsReply(const ShardsReply& reply);
absl::StatusOr<ShardsReply> DecodeShardsReply(std::string_view body);
std::string EncodeReadRequest(const ReadRequest& request);
absl::StatusOr<ReadRequest> DecodeReadRequest(std::string_view body);
std::string EncodeRoundRequest(const RoundRequest& request);
absl::StatusOr<RoundRequest> DecodeRoundRequest(std::string_view body);
std::string EncodeWatermarkRequest(const WatermarkRequest& request);
absl::StatusOr<WatermarkRequest> DecodeWatermarkRequest(std::string_view body);
std::string EncodeInstallRequest(const InstallRequest& request);
absl::StatusOr<InstallRequest> DecodeInstallRequest(std::string_view body);
std::string EncodeStoreReport(const StoreReport& report);
absl::StatusOr<StoreReport> DecodeStoreReport(std::string_view body);

}  // namespace capstan
