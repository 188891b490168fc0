// Saving and restoring the servers' state: the coordinator's calls.

#include "wire/snapshot.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "client/parameter_client.h"

namespace capstan {
namespace {

// The replies by server number, or the first error.
absl::StatusOr<std::vector<SnapshotReply>> ReadReplies(
    std::span<const ServerRequest> server_requests, uint32_t servers) {
  // A server that does not serve has nothing to copy.
  std::vector<SnapshotReply> replies(servers);
  for (SnapshotReply& reply : replies) reply.copied = true;
  for (const ServerRequest& server_request : server_requests) {
    absl::StatusOr<SnapshotReply> reply =
        DecodeSnapshotReply(server_request.reply.body);
    if (!reply.ok()) {
      return WithContext(reply.status(),
                         absl::StrCat("from server ", server_request.server));
    }
    replies[server_request.server] = *std::move(reply);
  }
  return replies;
}

}  // namespace

Task<absl::Status> ParameterClient::TellOne(uint32_t server,
                                            ServerRequest& server_request,
                                            UpdateOptions options) {
  if (server >= num_servers()) {
    co_return absl::InvalidArgumentError(absl::StrCat(
        "server ", server, " in a job of ", num_servers(), " servers"));
  }
  server_request.server = server;
  const TimeLimits limits = LimitsOf(options.timeout, options.limit);
  co_return co_await FanOut(servers_, std::span(&server_request, 1), limits,
                            options.cancellation);
}

Task<absl::StatusOr<std::vector<SnapshotReply>>> ParameterClient::Snapshot(
    SnapshotRequest request, UpdateOptions options) {
  std::vector<ServerRequest> server_requests;
  for (uint32_t i = 0; i < num_servers(); ++i) {
    if (!map_->Serves(i)) continue;
    ServerRequest& server_request = server_requests.emplace_back();
    server_request.server = i;
    server_request.method = Method::kSnapshot;
    server_request.body = EncodeSnapshotRequest(request);
  }
  const TimeLimits limits = LimitsOf(options.timeout, options.timeout);
  absl::Status status =
      co_await FanOut(servers_, server_requests, limits, options.cancellation);
  if (!status.ok()) co_return status;
  co_return ReadReplies(server_requests, num_servers());
}

Task<absl::Status> ParameterClient::SnapshotRead(uint32_t server,
                                                 SnapshotReadRequest request,
                                                 MutableBytes into,
                                                 UpdateOptions options) {
  ServerRequest server_request;
  server_request.method = Method::kSnapshotRead;
  server_request.body = EncodeSnapshotReadRequest(request);
  server_request.receive_into = {into};
  absl::Status status = co_await TellOne(server, server_request, options);
  if (!status.ok()) co_return status;
  const size_t received = server_request.reply.attachments[0].size();
  if (received != into.size()) {
    co_return absl::InvalidArgumentError(
        absl::StrCat("rows [", request.begin, ", ", request.end, ") of shard ",
                     request.key.shard, " of variable ", request.key.variable,
                     " are ", received, " bytes on server ", server, ", and ",
                     into.size(), " were expected"));
  }
  co_return absl::OkStatus();
}

Task<absl::StatusOr<SnapshotWriteReply>> ParameterClient::SnapshotWrite(
    uint32_t server, SnapshotWriteRequest request, UpdateOptions options) {
  ServerRequest server_request;
  server_request.method = Method::kSnapshotWrite;
  server_request.body = EncodeSnapshotWriteRequest(request);
  absl::Status status = co_await TellOne(server, server_request, options);
  if (!status.ok()) co_return status;
  co_return DecodeSnapshotWriteReply(server_request.reply.body);
}

Task<absl::Status> ParameterClient::SnapshotDrop(SnapshotRequest request,
                                                 UpdateOptions options) {
  std::string body = EncodeSnapshotRequest(request);
  return TellAll(map_, Method::kSnapshotDrop, std::move(body), options.timeout,
                 options.cancellation);
}

Task<absl::Status> ParameterClient::StageRows(uint32_t server,
                                              StageRowsRequest request,
                                              Bytes rows,
                                              UpdateOptions options) {
  ServerRequest server_request;
  server_request.method = Method::kStageRows;
  server_request.body = EncodeStageRowsRequest(request);
  server_request.attachments = {rows};
  co_return co_await TellOne(server, server_request, options);
}

Task<absl::Status> ParameterClient::StageFile(uint32_t server,
                                              StageFileRequest request,
                                              UpdateOptions options) {
  ServerRequest server_request;
  server_request.method = Method::kStageFile;
  server_request.body = EncodeStageFileRequest(request);
  co_return co_await TellOne(server, server_request, options);
}

Task<absl::Status> ParameterClient::StageCommit(uint32_t server,
                                                StageCommitRequest request,
                                                UpdateOptions options) {
  ServerRequest server_request;
  server_request.method = Method::kStageCommit;
  server_request.body = EncodeStageCommitRequest(request);
  co_return co_await TellOne(server, server_request, options);
}

Task<absl::Status> ParameterClient::StageDrop(StageDropRequest request,
                                              UpdateOptions options) {
  std::string body = EncodeStageDropRequest(request);
  return TellAll(map_, Method::kStageDrop, std::move(body), options.timeout,
                 options.cancellation);
}

}  // namespace capstan
