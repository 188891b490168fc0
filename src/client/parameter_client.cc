#include "client/parameter_client.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/shard_parts.h"
#include "wire/shard_map_codec.h"

namespace capstan {
namespace {

// How long one server may take to send a map before another is asked:
// initially, and at most.
constexpr Duration kFirstShare = std::chrono::seconds(1);
constexpr Duration kLastShare = std::chrono::seconds(60);
// The pause when no server has the map that is wanted.
constexpr Duration kBetweenRounds = std::chrono::milliseconds(50);

// For a wait cancelled after `last`, with `used` as the current map.
absl::Status CancelledWait(const ShardMap& used, const absl::Status& last) {
  const std::string message = absl::StrCat(
      "cancelled while waiting for a newer shard map than version ",
      used.version(), " (", std::string(last.message()), ")");
  return WithTask(absl::CancelledError(message), TaskOf(last));
}

}  // namespace

ParameterClient::ParameterClient(Clock& clock, const Executor& executor,
                                 std::vector<std::unique_ptr<Channel>> channels,
                                 Random random, BackoffOptions backoff)
    : servers_{.clock = clock,
               .executor = executor,
               .channels = std::move(channels),
               .random = random,
               .backoff = backoff},
      map_(std::make_shared<const ShardMap>()) {}

TimeLimits ParameterClient::LimitsOf(Duration timeout, Duration limit) const {
  const MonotonicTime now = servers_.clock.Now();
  TimeLimits limits;
  limits.timeout = timeout;
  if (limit < kNever - now) limits.deadline = now + limit;
  return limits;
}

absl::StatusOr<const VariableEntry*> ParameterClient::Find(
    std::string_view name) const {
  const VariableEntry* entry = map_->Find(name);
  if (entry != nullptr) return entry;
  return absl::NotFoundError(
      absl::StrCat("there is no variable '", std::string(name),
                   "'; the job has ", map_->entries().size(), " (version ",
                   map_->version(), " of the shard map)"));
}

Task<absl::StatusOr<VariableSpec>> ParameterClient::Spec(
    uint32_t variable, Duration timeout, Cancellation* cancellation) {
  CAPSTAN_CO_RETURN_IF_ERROR(CheckCancelled(cancellation, Method::kShardMap));
  const TimeLimits limits = LimitsOf(timeout, timeout);
  while (true) {
    const std::shared_ptr<const ShardMap> map = map_;
    const VariableEntry* entry = map->Find(variable);
    if (entry != nullptr) co_return entry->spec;
    absl::Status status = NoVariable(*map, variable);
    if (!absl::IsAborted(status)) co_return status;
    status =
        co_await RefreshStale(map, std::move(status), limits, cancellation);
    if (!status.ok()) co_return status;
  }
}

Task<absl::Status> ParameterClient::TellAll(std::shared_ptr<const ShardMap> map,
                                            Method method, std::string body,
                                            Duration timeout,
                                            Cancellation* cancellation) {
  std::vector<ServerRequest> server_requests;
  for (uint32_t i = 0; i < num_servers(); ++i) {
    if (!map->Serves(i)) continue;
    ServerRequest& server_request = server_requests.emplace_back();
    server_request.server = i;
    server_request.method = method;
    server_request.body = body;
  }
  const TimeLimits limits = LimitsOf(timeout, timeout);
  co_return co_await FanOut(servers_, server_requests, limits, cancellation);
}

Task<absl::Status> ParameterClient::AskForMap(uint32_t server,
                                              MonotonicTime deadline,
                                              Cancellation* cancellation,
                                              uint64_t generation,
                                              uint64_t version) {
  ServerRequest server_request;
  server_request.server = server;
  server_request.method = Method::kShardMap;
  TimeLimits limits;
  limits.timeout = deadline - servers_.clock.Now();
  limits.deadline = deadline;
  absl::Status status = co_await FanOut(servers_, std::span(&server_request, 1),
                                        limits, cancellation);
  if (!status.ok()) co_return status;
  absl::StatusOr<ShardMap> map = DecodeShardMap(server_request.reply.body);
  if (!map.ok()) co_return map.status();
  if (map->generation() < std::max(generation, map_->generation())) {
    // The server has since been left out of the job, or was restarted.
    co_return absl::AbortedError(absl::StrCat(
        "server ", server, " has a map of generation ", map->generation(),
        ", and the job has got to ", std::max(generation, map_->generation())));
  }
  if (map->generation() == generation && map->version() < version) {
    co_return absl::AbortedError(absl::StrCat(
        "server ", server, " has version ", map->version(),
        " of the shard map, and there is one of version ", version));
  }
  const bool newer = map->generation() > map_->generation() ||
                     map->version() > map_->version();
  // A caller that asks again wants a newer map, which another server may have.
  ask_first_ = newer ? server : (server + 1) % num_servers();
  if (newer) map_ = std::make_shared<const ShardMap>(*std::move(map));
  co_return absl::OkStatus();
}

Task<absl::Status> ParameterClient::Refresh(Duration timeout,
                                            Cancellation* cancellation,
                                            uint64_t generation,
                                            uint64_t version) {
  absl::Status last = absl::FailedPreconditionError("a job without servers");
  const MonotonicTime deadline = servers_.clock.Now() + timeout;
  const uint32_t first = ask_first_;
  Duration share = kFirstShare;
  while (num_servers() > 0) {
    for (uint32_t i = 0; i < num_servers(); ++i) {
      const uint32_t server = (first + i) % num_servers();
      if (!map_->Serves(server)) continue;
      const MonotonicTime until =
          std::min(deadline, servers_.clock.Now() + share);
      const absl::Status status =
          co_await AskForMap(server, until, cancellation, generation, version);
      if (status.ok() || IsCancelled(cancellation)) co_return status;
      // An earlier reply explains more than silence just before the deadline.
      const bool silent = absl::IsDeadlineExceeded(status);
      if (!silent || !absl::IsAborted(last)) last = status;
    }
    // A server that does not answer may need longer.
    share = std::min(2 * share, kLastShare);
    const MonotonicTime again = servers_.clock.Now() + kBetweenRounds;
    if (again >= deadline) break;
    co_await SleepUntil(servers_, again, cancellation);
  }
  if (absl::IsAborted(last)) {
    last = absl::DeadlineExceededError(std::string(last.message()));
  }
  co_return WithContext(last, "no server gives the shard map");
}

Task<absl::Status> ParameterClient::RefreshStale(
    std::shared_ptr<const ShardMap> used, absl::Status stale, TimeLimits limits,
    Cancellation* cancellation) {
  const MonotonicTime deadline =
      std::min(limits.deadline, servers_.clock.Now() + limits.timeout);
  Backoff backoff(servers_.backoff, servers_.random.Fork("map"));
  while (map_->version() == used->version() &&
         map_->generation() == used->generation()) {
    const Duration left = deadline - servers_.clock.Now();
    if (left <= Duration::zero()) {
      co_return absl::DeadlineExceededError(
          absl::StrCat(std::string(stale.message()),
                       "; and the servers have no newer one than version ",
                       used->version()));
    }
    absl::Status status = co_await Refresh(left, cancellation);
    if (IsCancelled(cancellation)) co_return CancelledWait(*used, status);
    if (!status.ok()) co_return status;
    if (map_->version() != used->version() ||
        map_->generation() != used->generation()) {
      break;
    }
    const MonotonicTime again = servers_.clock.Now() + backoff.Next();
    co_await SleepUntil(servers_, again, cancellation);
    if (IsCancelled(cancellation)) co_return CancelledWait(*used, stale);
  }
  co_return absl::OkStatus();
}

Task<absl::Status> ParameterClient::Install(const ShardMap& map, uint64_t term,
                                            uint64_t watermark,
                                            Duration timeout,
                                            Cancellation* cancellation,
                                            std::string record) {
  if (map.servers() != num_servers()) {
    co_return absl::InvalidArgumentError(
        absl::StrCat("a shard map for ", map.servers(), " servers in a job of ",
                     num_servers()));
  }
  InstallRequest request;
  request.term = term;
  request.watermark = watermark;
  request.map = EncodeShardMap(map);
  request.record = std::move(record);
  request.follows = map_ != nullptr && map_->version() != 0 &&
                    map_->generation() == map.generation();
  auto kept = std::make_shared<const ShardMap>(map);
  std::string body = EncodeInstallRequest(request);
  absl::Status status = co_await TellAll(
      kept, Method::kInstall, std::move(body), timeout, cancellation);
  if (status.ok()) map_ = std::move(kept);
  co_return status;
}

Task<absl::Status> ParameterClient::Commit(RoundRequest request,
                                           UpdateOptions options) {
  std::string body = EncodeRoundRequest(request);
  co_return co_await TellAll(map_, Method::kCommit, std::move(body),
                             options.timeout, options.cancellation);
}

Task<absl::Status> ParameterClient::Tick(RoundRequest request,
                                         UpdateOptions options) {
  std::string body = EncodeRoundRequest(request);
  co_return co_await TellAll(map_, Method::kTick, std::move(body),
                             options.timeout, options.cancellation);
}

Task<absl::Status> ParameterClient::SetWatermark(WatermarkRequest request,
                                                 UpdateOptions options) {
  std::string body = EncodeWatermarkRequest(request);
  co_return co_await TellAll(map_, Method::kWatermark, std::move(body),
                             options.timeout, options.cancellation);
}

Task<absl::StatusOr<StoreReport>> ParameterClient::Status(
    uint32_t server, Duration timeout, Cancellation* cancellation) {
  ServerRequest server_request;
  server_request.server = server;
  server_request.method = Method::kStoreStatus;
  const TimeLimits limits = LimitsOf(timeout, timeout);
  absl::Status status = co_await FanOut(servers_, std::span(&server_request, 1),
                                        limits, cancellation);
  if (!status.ok()) co_return status;
  co_return DecodeStoreReport(server_request.reply.body);
}

}  // namespace capstan
