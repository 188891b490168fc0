// Saving and restoring what the servers hold: the coordinator's calls.

#include "wire/snapshot.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "client/parameter_client.h"

namespace capstan {
namespace {

// The answers of all servers that there are, or the error of the first.
absl::StatusOr<std::vector<SnapshotReply>> ReadReplies(
    std::span<const Errand> errands) {
  std::vector<SnapshotReply> replies;
  replies.reserve(errands.size());
  for (const Errand& errand : errands) {
    absl::StatusOr<SnapshotReply> reply =
        DecodeSnapshotReply(errand.reply.body);
    if (!reply.ok()) {
      return WithContext(reply.status(),
                         absl::StrCat("from server ", errand.server));
    }
    replies.push_back(*std::move(reply));
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
  const MonotonicTime deadline = servers_.clock.Now() + options.timeout;
  co_return co_await FanOut(servers_, std::span(&errand, 1), deadline,
                            options.cancellation);
}

Task<absl::StatusOr<std::vector<SnapshotReply>>> ParameterClient::Snapshot(
    SnapshotRequest request, UpdateOptions options) {
  std::vector<Errand> errands(num_servers());
  for (uint32_t i = 0; i < errands.size(); ++i) {
    errands[i].server = i;
    errands[i].method = Method::kSnapshot;
    errands[i].body = EncodeSnapshotRequest(request);
  }
  const MonotonicTime deadline = servers_.clock.Now() + options.timeout;
  absl::Status status =
      co_await FanOut(servers_, errands, deadline, options.cancellation);
  if (!status.ok()) co_return status;
  co_return ReadReplies(errands);
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
  return TellAll(Method::kSnapshotDrop, std::move(body), options.timeout,
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
  return TellAll(Method::kStageDrop, std::move(body), options.timeout,
                 options.cancellation);
}

}  // namespace capstan
