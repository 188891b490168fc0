// How a task reads and updates variables: each call is split along the shard
// map into as few requests per server and verb as messages can hold, and the
// answers are received straight into the caller's memory.
//
// Lives on one executor and is used from it alone; many calls may be in flight
// at once. A call fails when nothing has moved for its timeout, or when its
// total limit has passed, and names the server. Until then a server that cannot
// be reached is asked again, under the same ids, so that nothing is applied
// twice. An outdated shard map is silently fetched again.
//
// A call that is given a Cancellation returns Cancelled soon after it is
// cancelled, and leaves the caller's memory alone from then on. What it asked
// of the servers may or may not have been done. A call that was cancelled
// before it began sends nothing. A Cancellation may be given to many calls.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/async/cancellation.h"
#include "base/async/clock.h"
#include "base/async/task.h"
#include "base/random.h"
#include "base/status.h"
#include "capstan/tensor.h"
#include "capstan/variable.h"
#include "client/fan_out.h"
#include "variable/shard_map.h"
#include "wire/channel.h"
#include "wire/parameter.h"
#include "wire/snapshot.h"

namespace capstan {

// The versions of a variable's shards that a caller has, all of one generation.
struct ShardVersions {
  uint64_t generation = 0;
  std::vector<uint64_t> versions;  // by shard; empty: has nothing
};

// A variable to be pulled.
struct PullItem {
  uint32_t variable = 0;  // VariableEntry::id
  // Where it goes: exactly as many bytes as the variable has. Shards that are
  // not newer than `have` are left alone. Undefined when the call fails.
  MutableBytes into;
  // In: the versions in `into` already; out: those in it after the call. Null
  // pulls everything.
  ShardVersions* have = nullptr;
};

// An update of a whole variable.
struct DenseItem {
  uint32_t variable = 0;
  DType dtype = DType::kF32;
  Bytes values;
  // What the gradient was computed from, to measure staleness. May be null.
  const ShardVersions* based_on = nullptr;
  // Where the values after the update go: as many bytes as the variable has, or
  // none if they are not wanted; the same for all items of a call. Undefined
  // when the call fails.
  MutableBytes into = {};
  // Their versions. May be null, and may be `based_on`.
  ShardVersions* now = nullptr;
};

// Rows to read: row ids[i] goes to the i-th row of `into`.
struct GatherItem {
  uint32_t variable = 0;
  std::span<const int64_t> ids;
  MutableBytes into;
  ShardVersions* versions = nullptr;  // as PullItem::have, but only written
};

// An update of some rows. Gradients of equal ids are added up; the other
// operations are applied one after the other.
struct RowsItem {
  uint32_t variable = 0;
  std::span<const int64_t> ids;
  DType dtype = DType::kF32;
  Bytes values;
  const ShardVersions* based_on = nullptr;
};

struct ReadOptions {
  // How long to wait for a server that sends nothing; a large read may take as
  // long as its bytes keep moving.
  Duration timeout = std::chrono::seconds(30);
  // How long the call may take in total.
  Duration limit = Duration::max();
  // The round of the step that reads: see UpdateMode. 0: do not wait.
  uint64_t round = 0;
  // Ends the call with Cancelled. May be null.
  Cancellation* cancellation = nullptr;
};

struct UpdateOptions {
  // As in ReadOptions. For calls that only tell the servers something and have
  // no bytes to move, this is the total time.
  Duration timeout = std::chrono::seconds(30);
  Duration limit = Duration::max();
  // Ends the call with Cancelled. May be null.
  Cancellation* cancellation = nullptr;
};

class ParameterClient {
 public:
  // `channels` has one per server of the job, in order. `clock` must outlive
  // the client; the channels live on `executor`.
  ParameterClient(Clock& clock, const Executor& executor,
                  std::vector<std::unique_ptr<Channel>> channels, Random random,
                  BackoffOptions backoff = {});

  // The newest shard map known to this client; empty before Refresh.
  std::shared_ptr<const ShardMap> map() const { return map_; }
  // NotFound, suggesting what to do, if there is no such variable.
  absl::StatusOr<const VariableEntry*> Find(std::string_view name) const;

  // The spec of a variable, in this map or a newer one. NotFound if it was
  // dropped; DeadlineExceeded if no server knows it.
  Task<absl::StatusOr<VariableSpec>> Spec(
      uint32_t variable, Duration timeout = std::chrono::seconds(30),
      Cancellation* cancellation = nullptr);

  // Asks the servers for the map, one after the other until one has a map of
  // `generation` and at least `version`, of this client's generation or a later
  // one, and keeps the newest.
  Task<absl::Status> Refresh(Duration timeout = std::chrono::seconds(30),
                             Cancellation* cancellation = nullptr,
                             uint64_t generation = 0, uint64_t version = 0);

  // Reading. Errors: InvalidArgument for memory of the wrong size and
  // OutOfRange for a bad id, both before anything is sent; errors from the
  // servers.
  Task<absl::Status> Pull(std::span<PullItem> items, ReadOptions options = {});
  Task<absl::Status> Gather(std::span<GatherItem> items,
                            ReadOptions options = {});
  // Rows [begin, end) of a variable, or of slot `slot` of its optimizer (from
  // 1), as f32.
  Task<absl::Status> ReadRows(uint32_t variable, int64_t begin, int64_t end,
                              MutableBytes into, uint32_t slot = 0,
                              ReadOptions options = {});

  // Updating, under an id that the caller uses for this update only; repeating
  // the same call under the same id changes nothing more. A variable occurs at
  // most once. Everything is checked before anything is sent, so an update that
  // is refused for its contents has changed nothing on any server.
  Task<absl::StatusOr<UpdateResult>> Update(UpdateId id, Operation operation,
                                            std::span<const DenseItem> dense,
                                            std::span<const RowsItem> rows,
                                            UpdateOptions options = {});

  // For the coordinator. "All servers" are those that serve, according to the
  // map.
  // Makes `map` the job's map on all servers. A new generation begins with
  // `watermark` and `record`: see WatermarkRequest. Aborted, naming the server,
  // if one has lost the variables of the previous map.
  Task<absl::Status> Install(const ShardMap& map, uint64_t term,
                             uint64_t watermark,
                             Duration timeout = std::chrono::minutes(10),
                             Cancellation* cancellation = nullptr,
                             std::string record = {});
  Task<absl::Status> Commit(RoundRequest request, UpdateOptions options = {});
  Task<absl::Status> SetWatermark(WatermarkRequest request,
                                  UpdateOptions options = {});
  // Tells all servers that replicas have finished a clock.
  Task<absl::Status> Tick(RoundRequest request, UpdateOptions options = {});
  Task<absl::StatusOr<StoreReport>> Status(
      uint32_t server, Duration timeout = std::chrono::seconds(5),
      Cancellation* cancellation = nullptr);

  // For the coordinator: saving and restoring, as described in wire/snapshot.h.
  // Aborted if a shard is not where the caller thinks, because its shard map is
  // old.
  // Writing and staging a file take as long as the disk does, and timeouts must
  // allow for that: until then a server that answers keepalives is waited for.
  // Returns the answers of all servers, by server number; a server that does
  // not serve has an answer without shards.
  Task<absl::StatusOr<std::vector<SnapshotReply>>> Snapshot(
      SnapshotRequest request, UpdateOptions options = {});
  // `into` has as many bytes as the rows; undefined when the call fails.
  Task<absl::Status> SnapshotRead(uint32_t server, SnapshotReadRequest request,
                                  MutableBytes into,
                                  UpdateOptions options = {});
  Task<absl::StatusOr<SnapshotWriteReply>> SnapshotWrite(
      uint32_t server, SnapshotWriteRequest request,
      UpdateOptions options = {});
  // On all servers; no effect on those without such a snapshot.
  Task<absl::Status> SnapshotDrop(SnapshotRequest request,
                                  UpdateOptions options = {});
  Task<absl::Status> StageRows(uint32_t server, StageRowsRequest request,
                               Bytes rows, UpdateOptions options = {});
  Task<absl::Status> StageFile(uint32_t server, StageFileRequest request,
                               UpdateOptions options = {});
  Task<absl::Status> StageCommit(uint32_t server, StageCommitRequest request,
                                 UpdateOptions options = {});
  // On all servers; no effect where nothing is staged.
  Task<absl::Status> StageDrop(StageDropRequest request,
                               UpdateOptions options = {});

  uint32_t num_servers() const {
    return static_cast<uint32_t>(servers_.channels.size());
  }

 private:
  // Sends the same body to every server that serves according to `map`.
  Task<absl::Status> TellAll(std::shared_ptr<const ShardMap> map, Method method,
                             std::string body, Duration timeout,
                             Cancellation* cancellation);
  // Keeps the map of `server` if it is newer. Aborted if it is older than
  // `version` of `generation`, or its generation is older than this client's.
  Task<absl::Status> AskForMap(uint32_t server, MonotonicTime deadline,
                               Cancellation* cancellation, uint64_t generation,
                               uint64_t version);
  // Sends `server_request` to `server`. InvalidArgument if there is no server
  // of that number.
  Task<absl::Status> TellOne(uint32_t server, ServerRequest& server_request,
                             UpdateOptions options);
  // After a call with the map `used` failed with `stale`, which is Aborted:
  // waits until there is a newer map. Another call may have fetched one
  // already.
  Task<absl::Status> RefreshStale(std::shared_ptr<const ShardMap> used,
                                  absl::Status stale, TimeLimits limits,
                                  Cancellation* cancellation);
  // For a call that begins now.
  TimeLimits LimitsOf(Duration timeout, Duration limit) const;

  ServerChannels servers_;
  std::shared_ptr<const ShardMap> map_;
  uint32_t ask_first_ = 0;  // the first server to ask for a map
};

}  // namespace capstan
