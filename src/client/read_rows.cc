// ReadRows: a range of rows of one variable or of one of its slots.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/parameter_client.h"
#include "client/shard_parts.h"

namespace capstan {
namespace {

absl::StatusOr<std::vector<ServerRequest>> Plan(const ShardMap& map,
                                                uint32_t variable,
                                                int64_t begin, int64_t end,
                                                MutableBytes into,
                                                uint32_t slot) {
  const VariableEntry* entry = map.Find(variable);
  if (entry == nullptr) return NoVariable(map, variable);
  if (begin < 0 || begin > end || end > entry->spec.shape.num_rows()) {
    return absl::OutOfRangeError(absl::StrCat(
        "variable '", entry->spec.name, "' has ", entry->spec.shape.num_rows(),
        " rows; [", begin, ", ", end, ") was asked for"));
  }
  const auto row_bytes =
      slot == 0 ? entry->row_bytes()
                : static_cast<size_t>(entry->spec.shape.row_elements()) *
                      sizeof(float);
  CAPSTAN_RETURN_IF_ERROR(CheckSize(
      *entry, static_cast<uint64_t>(end - begin) * row_bytes, into.size()));
  std::vector<ServerRequest> server_requests;
  for (uint32_t i = 0; i < entry->shards.size(); ++i) {
    const ShardPlace& place = entry->shards[i];
    const int64_t first = std::max(begin, place.begin);
    const int64_t last = std::min(end, place.end);
    if (first >= last) continue;
    ReadRequest request;
    request.generation = map.generation();
    request.map_version = map.version();
    request.key = {.variable = variable, .shard = i};
    request.begin = static_cast<uint64_t>(first - place.begin);
    request.end = static_cast<uint64_t>(last - place.begin);
    request.slot = slot;
    ServerRequest& server_request = server_requests.emplace_back();
    server_request.server = place.server;
    server_request.method = Method::kRead;
    server_request.body = EncodeReadRequest(request);
    server_request.receive_into = {
        into.subspan(static_cast<size_t>(first - begin) * row_bytes,
                     static_cast<size_t>(last - first) * row_bytes)};
  }
  return server_requests;
}

}  // namespace

Task<absl::Status> ParameterClient::ReadRows(uint32_t variable, int64_t begin,
                                             int64_t end, MutableBytes into,
                                             uint32_t slot,
                                             ReadOptions options) {
  CAPSTAN_CO_RETURN_IF_ERROR(
      CheckCancelled(options.cancellation, Method::kRead));
  const TimeLimits limits = LimitsOf(options.timeout, options.limit);
  while (true) {
    const std::shared_ptr<const ShardMap> map = map_;
    absl::StatusOr<std::vector<ServerRequest>> server_requests =
        Plan(*map, variable, begin, end, into, slot);
    absl::Status status = server_requests.status();
    if (status.ok()) {
      status = co_await FanOut(servers_, *server_requests, limits,
                               options.cancellation);
    }
    if (!absl::IsAborted(status)) co_return status;
    status = co_await RefreshStale(map, std::move(status), limits,
                                   options.cancellation);
    if (!status.ok()) co_return status;
  }
}

}  // namespace capstan
