// How a task reads and updates variables: each call is split along the shard
// map into as few requests for each server and verb as messages can hold, and
// the answers go straight to where they are wanted.
//
// Lives on one executor and is used from it alone; many calls may be under way
// at once. A call fails when nothing has moved for its time-out, or when its
// limit in all is over, and names the server. One that cannot be reached is
// asked again until then, under the same ids, so that nothing is applied twice.
// A shard map that has become old is fetched anew without a word.
//
// A call that is given a Cancellation returns Cancelled soon after it, and
// leaves the caller's memory alone from then on. What it asked the servers for
// may or may not have been done. One that was cancelled before it began sends
// nothing. A Cancellation may be given to many calls.
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

// The versions of a variable's shards that somebody has, of one generation.
struct ShardVersions {
  uint64_t generation = 0;
  std::vector<uint64_t> versions;  // by shard; empty: has nothing
};

// A variable to be pulled.
struct PullItem {
  uint32_t variable = 0;  // VariableEntry::id
  // Where it goes: as many bytes as it has. Shards that are not newer than
  // `have` are left alone. Undefined when the call fails.
  MutableBytes into;
  // What is there already, and after the call what is there then. May be null:
  // pulls all.
  ShardVersions* have = nullptr;
};

// An update of a whole variable.
struct DenseItem {
  uint32_t variable = 0;
  DType dtype = DType::kF32;
  Bytes values;
  // What the gradient was computed from, for the staleness. May be null.
  const ShardVersions* based_on = nullptr;
  // Where the values after the update go: as many bytes as the variable has, or
  // none if they are not wanted; the same for all items of a call. Undefined
  // when the call fails.
  MutableBytes into = {};
  // Which ones they are. May be null, and may be `based_on`.
  ShardVersions* now = nullptr;
};

// Rows to be read: row i goes to the i-th row of `into`.
struct GatherItem {
  uint32_t variable = 0;
  std::span<const int64_t> ids;
  MutableBytes into;
  ShardVersions* versions = nullptr;  // as PullItem::have, but only written
};

// An update of some rows. Gradients of equal ids are added up; the other
// operations are done one after the other.
struct RowsItem {
  uint32_t variable = 0;
  std::span<const int64_t> ids;
  DType dtype = DType::kF32;
  Bytes values;
  const ShardVersions* based_on = nullptr;
};

struct ReadOptions {
  // How long to wait for a server from which nothing comes; a large read takes
  // as long as its bytes move.
  Duration timeout = std::chrono::seconds(30);
  // How long the call may take in all.
  Duration limit = Duration::max();
  // The round of the step that reads: see UpdateMode. 0: does not wait.
  uint64_t round = 0;
  // Ends the call with Cancelled. May be null.
  Cancellation* cancellation = nullptr;
};

struct UpdateOptions {
  // As in ReadOptions. The calls that only tell the servers something have no
  // bytes to move: for them it is the time in all.
  Duration timeout = std::chrono::seconds(30);
  Duration limit = Duration::max();
  // Ends the call with Cancelled. May be null.
  Cancellation* cancellation = nullptr;
};

class ParameterClient {
 public:
  // `channels` has one for each server of the job, in order. `clock` must
  // outlive the client; the channels live on `executor`.
  ParameterClient(Clock& clock, const Executor& executor,
                  std::vector<std::unique_ptr<Channel>> channels, Random random,
                  BackoffOptions backoff = {});

  // The newest shard map that this client knows; empty before Refresh.
  std::shared_ptr<const ShardMap> map() const { return map_; }
  // NotFound, naming the nearest thing to do, if there is no such variable.
  absl::StatusOr<const VariableEntry*> Find(std::string_view name) const;

  // What a variable is, in this map or a newer one. NotFound if it was dropped;
  // DeadlineExceeded if nobody has heard of it.
  Task<absl::StatusOr<VariableSpec>> Spec(
      uint32_t variable, Duration timeout = std::chrono::seconds(30),
      Cancellation* cancellation = nullptr);

  // Asks the servers for the map, one after the other until one has a map of
  // `generation` and at least `version`, of this client's generation or of a
  // later one, and keeps the newest.
  Task<absl::Status> Refresh(Duration timeout = std::chrono::seconds(30),
                             Cancellation* cancellation = nullptr,
                             uint64_t generation = 0, uint64_t version = 0);

  // Reading. Errors: InvalidArgument for memory of the wrong size, OutOfRange
  // for an id, before anything is sent; what the servers answer.
  Task<absl::Status> Pull(std::span<PullItem> items, ReadOptions options = {});
  Task<absl::Status> Gather(std::span<GatherItem> items,
                            ReadOptions options = {});
  // Rows [begin, end) of a variable, or of slot `slot` of its optimizer (from
  // 1 on), as f32.
  Task<absl::Status> ReadRows(uint32_t variable, int64_t begin, int64_t end,
                              MutableBytes into, uint32_t slot = 0,
                              ReadOptions options = {});

  // Updating, under an id that the caller has for it alone; repeating the same
  // call under the same id changes nothing more. A variable occurs once.
  // All is checked before anything is sent, so an update that is refused for
  // what it is has changed nothing on any server.
  Task<absl::StatusOr<UpdateResult>> Update(UpdateId id, Operation operation,
                                            std::span<const DenseItem> dense,
                                            std::span<const RowsItem> rows,
                                            UpdateOptions options = {});

  // The coordinator's. "All servers" are those that serve, by the map.
  // Makes `map` the job's, on all servers. A new generation begins with
  // `watermark` and `record`: see WatermarkRequest. Aborted, naming the server,
  // if one has lost the variables of the map before.
  Task<absl::Status> Install(const ShardMap& map, uint64_t term,
                             uint64_t watermark,
                             Duration timeout = std::chrono::minutes(10),
                             Cancellation* cancellation = nullptr,
                             std::string record = {});
  Task<absl::Status> Commit(RoundRequest request, UpdateOptions options = {});
  Task<absl::Status> SetWatermark(WatermarkRequest request,
                                  UpdateOptions options = {});
  // Tells all servers that replicas are done with a clock.
  Task<absl::Status> Tick(RoundRequest request, UpdateOptions options = {});
  Task<absl::StatusOr<StoreReport>> Status(
      uint32_t server, Duration timeout = std::chrono::seconds(5),
      Cancellation* cancellation = nullptr);

  // The coordinator's: saving and restoring, as wire/snapshot.h says. Aborted
  // if a shard is not where the caller thinks: its shard map is old.
  // Writing and staging a file take as long as the disk does, and time-outs
  // must allow for that: until then a server that answers keepalives is waited
  // for.
  // The answers of all servers, by their numbers; of one that does not serve,
  // one without shards.
  Task<absl::StatusOr<std::vector<SnapshotReply>>> Snapshot(
      SnapshotRequest request, UpdateOptions options = {});
  // `into` has as many bytes as the rows; undefined when the call fails.
  Task<absl::Status> SnapshotRead(uint32_t server, SnapshotReadRequest request,
                                  MutableBytes into,
                                  UpdateOptions options = {});
  Task<absl::StatusOr<SnapshotWriteReply>> SnapshotWrite(
      uint32_t server, SnapshotWriteRequest request,
      UpdateOptions options = {});
  // On all servers; nothing if they have no such snapshot.
  Task<absl::Status> SnapshotDrop(SnapshotRequest request,
                                  UpdateOptions options = {});
  Task<absl::Status> StageRows(uint32_t server, StageRowsRequest request,
                               Bytes rows, UpdateOptions options = {});
  Task<absl::Status> StageFile(uint32_t server, StageFileRequest request,
                               UpdateOptions options = {});
  Task<absl::Status> StageCommit(uint32_t server, StageCommitRequest request,
                                 UpdateOptions options = {});
  // On all servers; nothing if nothing is staged.
  Task<absl::Status> StageDrop(StageDropRequest request,
                               UpdateOptions options = {});

  uint32_t num_servers() const {
    return static_cast<uint32_t>(servers_.channels.size());
  }

 private:
  // The same body to every server that serves by `map`.
  Task<absl::Status> TellAll(std::shared_ptr<const ShardMap> map, Method method,
                             std::string body, Duration timeout,
                             Cancellation* cancellation);
  // Keeps what `server` has, if it is newer. Aborted if it is older than
  // `version` of `generation`, or its generation than this client's.
  Task<absl::Status> AskForMap(uint32_t server, MonotonicTime deadline,
                               Cancellation* cancellation, uint64_t generation,
                               uint64_t version);
  // Sends `server_request` to `server`. InvalidArgument if there is none of
  // that number.
  Task<absl::Status> TellOne(uint32_t server, ServerRequest& server_request,
                             UpdateOptions options);
  // After a call with the map `used` failed with `stale`, which is Aborted:
  // gets a newer map, and waits for one. Another call may have got it already.
  Task<absl::Status> RefreshStale(std::shared_ptr<const ShardMap> used,
                                  absl::Status stale, TimeLimits limits,
                                  Cancellation* cancellation);
  // For a call that begins now.
  TimeLimits LimitsOf(Duration timeout, Duration limit) const;

  ServerChannels servers_;
  std::shared_ptr<const ShardMap> map_;
  uint32_t ask_first_ = 0;  // the server to ask for a map
};

}  // namespace capstan
