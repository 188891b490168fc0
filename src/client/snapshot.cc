// Saving and restoring what the servers hold: the coordinator's calls.

#include "wire/snapshot.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "client/parameter_client.h"

namespace capstan {
namespace {

// By the numbers of the `servers`, or the first error.
absl::StatusOr<std::vector<SnapshotReply>> ReadReplies(
    std::span<const Errand> errands, uint32_t servers) {
  // One that does not serve has nothing to copy.
  std::vector<SnapshotReply> replies(servers);
  for (SnapshotReply& reply : replies) reply.copied = true;
  for (const Errand& errand : errands) {
    absl::StatusOr<SnapshotReply> reply =
        DecodeSnapshotReply(errand.reply.body);
    if (!reply.ok()) {
      return WithContext(reply.status(),
                         absl::StrCat("from server ", errand.server));
    }
    replies[errand.server] = *std::move(reply);
  }
  return replies;
}

}  // namespace

Task<absl::Status> ParameterClient::TellOne(uint32_t server, Errand& errand,
                                            UpdateOptions options) {
  if (server >= num_servers()) {
    co_return absl::InvalidArgumentError(absl::StrCat(
        "server ", server, " in a job of ", num_servers(), " servers"));
  }
  errand.server = server;
  const TimeLimits limits = LimitsOf(options.timeout, options.limit);
  co_return co_await FanOut(servers_, std::span(&errand, 1), limits,
                            options.cancellation);
}

Task<absl::StatusOr<std::vector<SnapshotReply>>> ParameterClient::Snapshot(
    SnapshotRequest request, UpdateOptions options) {
  std::vector<Errand> errands;
  for (uint32_t i = 0; i < num_servers(); ++i) {
    if (!map_->Serves(i)) continue;
    Errand& errand = errands.emplace_back();
    errand.server = i;
    errand.method = Method::kSnapshot;
    errand.body = EncodeSnapshotRequest(request);
  }
  const TimeLimits limits = LimitsOf(options.timeout, options.timeout);
  absl::Status status =
      co_await FanOut(servers_, errands, limits, options.cancellation);
  if (!status.ok()) co_return status;
  co_return ReadReplies(errands, num_servers());
}

Task<absl::Status> ParameterClient::SnapshotRead(uint32_t server,
                                                 SnapshotReadRequest request,
                                                 MutableBytes into,
                                                 UpdateOptions options) {
  Errand errand;
  errand.method = Method::kSnapshotRead;
  errand.body = EncodeSnapshotReadRequest(request);
  errand.receive_into = {into};
  absl::Status status = co_await TellOne(server, errand, options);
  if (!status.ok()) co_return status;
  const size_t received = errand.reply.attachments[0].size();
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
  Errand errand;
  errand.method = Method::kSnapshotWrite;
  errand.body = EncodeSnapshotWriteRequest(request);
  absl::Status status = co_await TellOne(server, errand, options);
  if (!status.ok()) co_return status;
  co_return DecodeSnapshotWriteReply(errand.reply.body);
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
  Errand errand;
  errand.method = Method::kStageRows;
  errand.body = EncodeStageRowsRequest(request);
  errand.attachments = {rows};
  co_return co_await TellOne(server, errand, options);
}

Task<absl::Status> ParameterClient::StageFile(uint32_t server,
                                              StageFileRequest request,
                                              UpdateOptions options) {
  Errand errand;
  errand.method = Method::kStageFile;
  errand.body = EncodeStageFileRequest(request);
  co_return co_await TellOne(server, errand, options);
}

Task<absl::Status> ParameterClient::StageCommit(uint32_t server,
                                                StageCommitRequest request,
                                                UpdateOptions options) {
  Errand errand;
  errand.method = Method::kStageCommit;
  errand.body = EncodeStageCommitRequest(request);
  co_return co_await TellOne(server, errand, options);
}

Task<absl::Status> ParameterClient::StageDrop(StageDropRequest request,
                                              UpdateOptions options) {
  std::string body = EncodeStageDropRequest(request);
  return TellAll(map_, Method::kStageDrop, std::move(body), options.timeout,
                 options.cancellation);
}

}  // namespace capstan
