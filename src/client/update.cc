// Update: gradients and assignments, dense and by rows.
#include <array>
#include <cmath>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/parameter_client.h"
#include "client/plan_rows.h"
#include "client/shard_parts.h"
#include "optimizer/accumulate.h"
#include "optimizer/find_nonfinite.h"
#include "optimizer/widen.h"
#include "wire/check_operands.h"

namespace capstan {
namespace {

// One item, as it is sent.
struct UpdatePlan {
  const VariableEntry* entry = nullptr;
  bool by_rows = false;
  DType dtype = DType::kF32;
  Bytes values;  // the caller's, or `sums`
  RowPlan rows;
  Buffer sums;
  const ShardVersions* based_on = nullptr;
  MutableBytes into;
  ShardVersions* now = nullptr;
  float scale = 1;
};

// A request to one server, of one verb.
struct ServerUpdate {
  uint32_t server = 0;
  bool by_rows = false;
  ShardsRequest request;
  std::vector<Bytes> attachments;
  // For each part, if values are wanted.
  std::vector<MutableBytes> into;
  std::vector<const UpdatePlan*> sources;
};

size_t RowBytes(const VariableEntry& entry, DType dtype) {
  return static_cast<size_t>(entry.spec.shape.row_elements()) * SizeOf(dtype);
}

absl::Status CheckDType(const VariableEntry& entry, Operation operation,
                        DType dtype) {
  const bool gradient = operation == Operation::kGradient;
  if (gradient && !entry.spec.optimizer) {
    return absl::InvalidArgumentError(
        absl::StrCat("variable '", entry.spec.name,
                     "' has no optimizer, so a gradient means nothing to it: "
                     "assign to it instead"));
  }
  const bool fits = gradient ? dtype == DType::kF32 || dtype == DType::kF16 ||
                                   dtype == DType::kBF16
                             : dtype == entry.spec.dtype;
  if (fits) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "variable '", entry.spec.name, "': values of ",
      std::string(NameOf(dtype)), "; ",
      gradient
          ? "a gradient is f32, f16 or bf16"
          : absl::StrCat("it is ", std::string(NameOf(entry.spec.dtype)))));
}

// A gradient of a synchronous variable needs its place in a round. The servers
// check this too, but by then one of them may have applied its part.
absl::Status CheckRound(const VariableEntry& entry, Operation operation,
                        const UpdateId& id) {
  const auto* sync = std::get_if<Sync>(&entry.spec.update);
  if (sync == nullptr || operation != Operation::kGradient) {
    return absl::OkStatus();
  }
  if (id.round == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("variable '", entry.spec.name,
                     "' is updated in synchronous rounds, and a gradient came "
                     "that belongs to none"));
  }
  const uint64_t most = static_cast<uint64_t>(sync->replicas) +
                        static_cast<uint64_t>(sync->backup);
  if (id.replica < most) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("variable '", entry.spec.name, "': a gradient of replica ",
                   id.replica, ", but there are ", most));
}

// Whether an update by rows also affects rows that it does not name.
bool TouchesAllRows(const Optimizer& optimizer) {
  if (const auto* adam = std::get_if<Adam>(&optimizer.rule)) {
    return adam->row_moments == RowMoments::kExact;
  }
  if (const auto* adam = std::get_if<AdamW>(&optimizer.rule)) {
    return adam->row_moments == RowMoments::kExact;
  }
  return false;
}

// Adds the shards that have none of the rows.
void AddShardsWithoutRows(const VariableEntry& entry, RowPlan& plan) {
  std::vector<ShardRows> all(entry.shards.size());
  for (uint32_t i = 0; i < all.size(); ++i) all[i].shard = i;
  for (ShardRows& shard : plan.shards) all[shard.shard] = std::move(shard);
  plan.shards = std::move(all);
}

// Arranges the values in the order of the rows; gradients of equal ids are
// added up, as f32.
absl::Status ArrangeRows(const RowsItem& item, bool gradient,
                         UpdatePlan& plan) {
  const auto size = static_cast<size_t>(plan.entry->spec.shape.row_elements());
  if (plan.rows.in_order || size == 0) return absl::OkStatus();
  const bool sum = gradient && plan.rows.num_rows != item.ids.size();
  const size_t from_bytes = size * SizeOf(item.dtype);
  if (sum) plan.dtype = DType::kF32;
  const size_t to_bytes = size * SizeOf(plan.dtype);
  absl::StatusOr<Buffer> arranged =
      Buffer::Allocate(plan.rows.num_rows * to_bytes, Fill::kNone);
  if (!arranged.ok()) return arranged.status();
  plan.sums = *std::move(arranged);
  std::vector<float> row(sum ? size : 0);
  std::vector<bool> filled(plan.rows.num_rows);
  for (size_t i = 0; i < item.ids.size(); ++i) {
    const uint32_t place = plan.rows.place[i];
    const std::byte* from = item.values.data() + i * from_bytes;
    std::byte* to = plan.sums.data() + place * to_bytes;
    if (filled[place]) {
      Widen(item.dtype, from, size, row.data());
      Accumulate(row, 1, std::span(reinterpret_cast<float*>(to), size));
    } else if (plan.dtype == item.dtype) {
      std::memcpy(to, from, from_bytes);
    } else {
      Widen(item.dtype, from, size, reinterpret_cast<float*>(to));
    }
    filled[place] = true;
  }
  plan.values = plan.sums.bytes();
  return absl::OkStatus();
}

absl::StatusOr<std::vector<UpdatePlan>> PlanItems(
    const ShardMap& map, const UpdateId& id, Operation operation,
    std::span<const DenseItem> dense, std::span<const RowsItem> rows) {
  absl::StatusOr<std::vector<ItemOrder>> order = OrderItems(map, dense);
  if (!order.ok()) return order.status();
  absl::StatusOr<std::vector<ItemOrder>> row_order = OrderItems(map, rows);
  if (!row_order.ok()) return row_order.status();
  std::vector<ItemOrder> all = *order;
  all.insert(all.end(), row_order->begin(), row_order->end());
  CAPSTAN_RETURN_IF_ERROR(SortItems(all));  // duplicates are refused
  const bool gradient = operation == Operation::kGradient;
  std::vector<UpdatePlan> plans;
  plans.reserve(all.size());
  for (const ItemOrder& source : *order) {
    const DenseItem& item = dense[source.item];
    const VariableEntry& entry = *source.entry;
    CAPSTAN_RETURN_IF_ERROR(CheckDType(entry, operation, item.dtype));
    CAPSTAN_RETURN_IF_ERROR(CheckRound(entry, operation, id));
    CAPSTAN_RETURN_IF_ERROR(CheckSize(
        entry, ByteSize(item.dtype, entry.spec.shape), item.values.size()));
    UpdatePlan& plan = plans.emplace_back();
    plan.entry = &entry;
    plan.dtype = item.dtype;
    plan.values = item.values;
    plan.based_on = item.based_on;
    plan.into = item.into;
    plan.now = item.now;
    if (!item.into.empty()) {
      CAPSTAN_RETURN_IF_ERROR(
          CheckSize(entry, ByteSize(entry.spec.dtype, entry.spec.shape),
                    item.into.size()));
    }
  }
  for (const ItemOrder& source : *row_order) {
    const RowsItem& item = rows[source.item];
    const VariableEntry& entry = *source.entry;
    CAPSTAN_RETURN_IF_ERROR(CheckDType(entry, operation, item.dtype));
    CAPSTAN_RETURN_IF_ERROR(CheckRound(entry, operation, id));
    CAPSTAN_RETURN_IF_ERROR(
        CheckSize(entry, item.ids.size() * RowBytes(entry, item.dtype),
                  item.values.size()));
    absl::StatusOr<RowPlan> split = PlanRows(entry, item.ids, gradient);
    if (!split.ok()) return split.status();
    UpdatePlan& plan = plans.emplace_back();
    plan.entry = &entry;
    plan.by_rows = true;
    plan.dtype = item.dtype;
    plan.values = item.values;
    plan.based_on = item.based_on;
    plan.rows = *std::move(split);
    CAPSTAN_RETURN_IF_ERROR(ArrangeRows(item, gradient, plan));
    if (gradient && TouchesAllRows(*entry.spec.optimizer)) {
      AddShardsWithoutRows(entry, plan.rows);
    }
  }
  return plans;
}

double Norm(const UpdatePlan& plan) {
  return std::sqrt(SumOfSquares(plan.dtype, plan.values.data(),
                                plan.values.size() / SizeOf(plan.dtype)));
}

// The scale that brings a norm down to its limit, if it has one.
double ScaleFor(double norm, double limit) {
  return limit > 0 && norm > limit ? limit / norm : 1.0;
}

// Clipping by norm is done here, where the whole gradient is: a server has only
// a part of it.
void ClipNorms(std::span<UpdatePlan> plans) {
  bool global = false;
  for (const UpdatePlan& plan : plans) {
    global |= plan.entry->spec.optimizer->global_clip_norm > 0;
  }
  double squares = 0;
  if (global) {
    for (const UpdatePlan& plan : plans) {
      const double norm = Norm(plan);
      // A skipped variable must not affect the others.
      const bool skip = plan.entry->spec.non_finite == NonFinite::kSkip;
      if (!skip || std::isfinite(norm)) squares += norm * norm;
    }
  }
  for (UpdatePlan& plan : plans) {
    const Optimizer& optimizer = *plan.entry->spec.optimizer;
    double scale = ScaleFor(std::sqrt(squares), optimizer.global_clip_norm);
    if (optimizer.clip_norm > 0) {
      scale *= ScaleFor(scale * Norm(plan), optimizer.clip_norm);
    }
    plan.scale = static_cast<float>(scale);
  }
}

// A server skips the shards in whose part it sees a NaN. For all shards of the
// variable to be skipped, each part must have one.
absl::Status SpreadSkips(std::span<UpdatePlan> plans) {
  for (UpdatePlan& plan : plans) {
    const VariableEntry& entry = *plan.entry;
    if (entry.spec.non_finite != NonFinite::kSkip) continue;
    if (entry.shards.size() == 1) continue;
    if (!FindNonFinite(plan.dtype, plan.values)) continue;
    absl::StatusOr<Buffer> bad =
        Buffer::Allocate(plan.values.size(), Fill::kNone);
    if (!bad.ok()) return bad.status();
    // A NaN in every floating dtype.
    std::memset(bad->data(), 0xff, bad->size());
    plan.sums = *std::move(bad);
    plan.values = plan.sums.bytes();
  }
  return absl::OkStatus();
}

// A server checks each request, and refuses it as a whole. With several
// requests, all must be checked before the first is sent.
absl::Status CheckFinite(std::span<const UpdatePlan> plans,
                         Operation operation) {
  for (const UpdatePlan& plan : plans) {
    const VariableSpec& spec = plan.entry->spec;
    if (spec.non_finite != NonFinite::kRefuse) continue;
    const std::optional<size_t> found = FindNonFinite(plan.dtype, plan.values);
    if (!found) continue;
    const auto size = static_cast<size_t>(spec.shape.row_elements());
    size_t row = *found / size;
    uint32_t shard = 0;
    if (plan.by_rows) {
      for (const ShardRows& rows : plan.rows.shards) {
        shard = rows.shard;
        if (row < rows.rows.size()) {
          row = static_cast<size_t>(plan.entry->shards[shard].begin) +
                rows.rows[row];
          break;
        }
        row -= rows.rows.size();
      }
    } else {
      shard =
          static_cast<uint32_t>(plan.entry->ShardOf(static_cast<int64_t>(row)));
    }
    return absl::InvalidArgumentError(
        absl::StrCat("variable '", spec.name, "', shard ", shard,
                     operation == Operation::kGradient ? ": the gradient has"
                                                       : ": the values have",
                     " a NaN or infinity in row ", row, ", element ",
                     *found % size, " of the row; nothing was changed"));
  }
  return absl::OkStatus();
}

absl::Status CheckOperands(std::span<const UpdatePlan> plans,
                           Operation operation) {
  for (const UpdatePlan& plan : plans) {
    CAPSTAN_RETURN_IF_ERROR(
        WithContext(CheckOperands(plan.dtype, operation, plan.values),
                    absl::StrCat("variable '", plan.entry->spec.name, "'")));
  }
  return absl::OkStatus();
}

std::vector<ServerUpdate> PlanServers(const ShardMap& map, const UpdateId& id,
                                      Operation operation,
                                      std::span<const UpdatePlan> plans) {
  // Two destinations per server, dense and by rows: parts by rows have two
  // attachments, so fewer of them fit.
  RequestList<ServerUpdate> requests(size_t{2} * map.servers());
  const auto add = [&](const UpdatePlan& plan,
                       uint32_t shard) -> ServerUpdate& {
    const uint32_t owner = plan.entry->shards[shard].server;
    ServerUpdate& server =
        plan.by_rows ? requests.For(size_t{2} * owner + 1, kMostParts / 2)
                     : requests.For(size_t{2} * owner);
    server.server = owner;
    server.by_rows = plan.by_rows;
    ShardPart part;
    part.key = {.variable = plan.entry->id, .shard = shard};
    part.dtype = plan.dtype;
    part.scale = plan.scale;
    part.version = VersionOf(plan.based_on, map, shard);
    server.request.parts.push_back(part);
    return server;
  };
  for (const UpdatePlan& plan : plans) {
    const VariableEntry& entry = *plan.entry;
    const size_t row_bytes = RowBytes(entry, plan.dtype);
    if (!plan.by_rows) {
      for (uint32_t shard = 0; shard < entry.shards.size(); ++shard) {
        ServerUpdate& server = add(plan, shard);
        server.attachments.push_back(
            ShardBytes(entry, shard, plan.values, row_bytes));
        if (plan.into.empty()) continue;
        server.request.want_values = true;
        server.into.push_back(
            ShardBytes(entry, shard, plan.into, entry.row_bytes()));
        server.sources.push_back(&plan);
      }
      continue;
    }
    Bytes left = plan.values;
    for (const ShardRows& shard : plan.rows.shards) {
      ServerUpdate& server = add(plan, shard.shard);
      const size_t bytes = shard.rows.size() * row_bytes;
      server.attachments.push_back(std::as_bytes(std::span(shard.rows)));
      server.attachments.push_back(left.first(bytes));
      left = left.subspan(bytes);
    }
  }
  std::vector<ServerUpdate> servers = requests.Take();
  for (ServerUpdate& server : servers) {
    server.request.id = id;
    server.request.operation = operation;
    server.request.map_version = map.version();
  }
  return servers;
}

void Count(const ShardsReply& reply, UpdateResult& summary) {
  for (const Outcome outcome : reply.outcomes) {
    summary.applied += outcome == Outcome::kApplied;
    summary.already_applied += outcome == Outcome::kAlreadyApplied;
    summary.staged += outcome == Outcome::kStaged;
    summary.skipped += outcome == Outcome::kSkipped;
    summary.dropped += outcome == Outcome::kDropped;
  }
}

// Everything that is sent for an update, and the memory that holds it.
struct Prepared {
  std::vector<UpdatePlan> plans;
  std::vector<ServerUpdate> servers;
};

// Either all dense items want values, or none does.
absl::Status CheckWanted(std::span<const DenseItem> dense) {
  for (const DenseItem& item : dense) {
    if (item.into.empty() == dense.front().into.empty()) continue;
    return absl::InvalidArgumentError(
        "an update that wants the values of some variables, and of others not");
  }
  return absl::OkStatus();
}

// Records the versions of the values received.
absl::Status NoteValues(const ShardMap& map, const ServerUpdate& plan,
                        const ServerRequest& server_request,
                        const ShardsReply& reply) {
  for (size_t i = 0; i < plan.into.size(); ++i) {
    const UpdatePlan& source = *plan.sources[i];
    CAPSTAN_RETURN_IF_ERROR(
        CheckSize(*source.entry, plan.into[i].size(),
                  server_request.reply.attachments[i].size()));
    SetVersion(source.now, map, *source.entry, plan.request.parts[i].key.shard,
               reply.versions[i]);
  }
  return absl::OkStatus();
}

absl::StatusOr<Prepared> Prepare(const ShardMap& map, const UpdateId& id,
                                 Operation operation,
                                 std::span<const DenseItem> dense,
                                 std::span<const RowsItem> rows) {
  if (id.fence.generation > map.generation()) {
    return absl::AbortedError(absl::StrCat(
        "an update of generation ", id.fence.generation, ", of which version ",
        map.version(), " of the shard map knows nothing"));
  }
  if (id.fence.generation < map.generation()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "fenced: the update is of generation ", id.fence.generation,
        ", and the job is in generation ", map.generation()));
  }
  CAPSTAN_RETURN_IF_ERROR(CheckWanted(dense));
  Prepared prepared;
  absl::StatusOr<std::vector<UpdatePlan>> plans =
      PlanItems(map, id, operation, dense, rows);
  if (!plans.ok()) return plans.status();
  prepared.plans = *std::move(plans);
  if (operation == Operation::kGradient) ClipNorms(prepared.plans);
  CAPSTAN_RETURN_IF_ERROR(SpreadSkips(prepared.plans));
  prepared.servers = PlanServers(map, id, operation, prepared.plans);
  if (prepared.servers.size() > 1) {
    CAPSTAN_RETURN_IF_ERROR(CheckFinite(prepared.plans, operation));
    if (operation != Operation::kGradient) {
      CAPSTAN_RETURN_IF_ERROR(CheckOperands(prepared.plans, operation));
    }
  }
  return prepared;
}

}  // namespace

Task<absl::StatusOr<UpdateResult>> ParameterClient::Update(
    UpdateId id, Operation operation, std::span<const DenseItem> dense,
    std::span<const RowsItem> rows, UpdateOptions options) {
  CAPSTAN_CO_RETURN_IF_ERROR(
      CheckCancelled(options.cancellation, Method::kPush));
  const TimeLimits limits = LimitsOf(options.timeout, options.limit);
  while (true) {
    const std::shared_ptr<const ShardMap> map = map_;
    const absl::StatusOr<Prepared> prepared =
        Prepare(*map, id, operation, dense, rows);
    absl::Status status = prepared.status();
    if (status.ok()) {
      std::vector<ServerRequest> server_requests;
      for (const ServerUpdate& server : prepared->servers) {
        ServerRequest& server_request = server_requests.emplace_back();
        server_request.server = server.server;
        server_request.method =
            server.by_rows ? Method::kScatter : Method::kPush;
        server_request.body = EncodeShardsRequest(server.request);
        server_request.attachments = server.attachments;
        if (!server.into.empty()) server_request.receive_into = server.into;
      }
      status = co_await FanOut(servers_, server_requests, limits,
                               options.cancellation);
      UpdateResult summary;
      for (size_t i = 0; status.ok() && i < server_requests.size(); ++i) {
        const absl::StatusOr<ShardsReply> reply =
            ReadReply(server_requests[i].reply.body,
                      prepared->servers[i].request.parts.size(), true);
        status = reply.status();
        if (reply.ok()) {
          Count(*reply, summary);
          status = NoteValues(*map, prepared->servers[i], server_requests[i],
                              *reply);
        }
      }
      if (status.ok()) co_return summary;
      // Parts of `into` may have been overwritten, so `now` no longer describes
      // it.
      for (const DenseItem& item : dense) {
        if (!item.into.empty() && item.now != nullptr) {
          item.now->versions.clear();
        }
      }
    }
    if (!absl::IsAborted(status)) co_return status;
    status = co_await RefreshStale(map, std::move(status), limits,
                                   options.cancellation);
    if (!status.ok()) co_return status;
  }
}

}  // namespace capstan
