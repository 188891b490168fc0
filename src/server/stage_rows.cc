// StageRows: rows of a shard, or of one of its slots, for a restore.
#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/request.h"
#include "server/stage/lend_spares.h"
#include "server/verbs.h"

namespace capstan {
namespace {

// Received at a time, and copied to the shard: a call that is repeated while
// the first is still being received must not write the same memory.
constexpr size_t kRowsPieceBytes = 1 << 20;

absl::Status CheckStaged(const Shard& shard, const StageRowsRequest& request,
                         const ServerCall& call) {
  CAPSTAN_RETURN_IF_ERROR(
      CheckRange(shard, request.slot, request.begin, request.end));
  const std::span<const uint64_t> sizes = call.attachment_sizes();
  if (sizes.size() != 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        "rows to be staged in ", sizes.size(), " attachments, not in one"));
  }
  const uint64_t bytes =
      (request.end - request.begin) * shard.part_row_bytes(request.slot);
  if (sizes[0] == bytes) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(shard.Name(), ": rows [", request.begin, ", ", request.end,
                   ") are ", bytes, " bytes, and ", sizes[0], " came"));
}

Task<absl::Status> ReceiveRows(const StageRowsRequest& request,
                               StagedShard& staged, ServerCall& call) {
  const size_t row_bytes = staged.shard().part_row_bytes(request.slot);
  CAPSTAN_CO_RETURN_IF_ERROR(
      staged.BeginRows(request.slot, request.begin, request.end));
  const uint64_t size = call.attachment_sizes()[0];
  absl::StatusOr<Buffer> piece =
      Buffer::Allocate(std::min<uint64_t>(size, kRowsPieceBytes), Fill::kNone);
  if (!piece.ok()) co_return piece.status();
  for (uint64_t offset = 0; offset < size; offset += kRowsPieceBytes) {
    const MutableBytes part = piece->mutable_bytes().first(
        std::min<uint64_t>(kRowsPieceBytes, size - offset));
    absl::Status status = co_await call.Receive(part);
    if (!status.ok()) co_return status;
    CAPSTAN_CO_RETURN_IF_ERROR(
        staged.Write(request.slot, request.begin * row_bytes + offset, part));
  }
  co_return staged.EndRows(request.slot, request.begin, request.end);
}

}  // namespace

Task<ServerReply> ServeStageRows(VerbContext& context, ServerCall& call) {
  const absl::StatusOr<StageRowsRequest> request =
      DecodeStageRowsRequest(call.body());
  if (!request.ok()) co_return ErrorReply(request.status());
  const TablePtr table = context.store.table();
  absl::Status status = context.store.Admit(request->fence, *table, call);
  if (!status.ok()) co_return ErrorReply(std::move(status));
  const absl::StatusOr<Shard*> shard =
      FindShard(*table, request->key, request->map_version);
  if (!shard.ok()) co_return ErrorReply(shard.status());
  status = CheckStaged(**shard, *request, call);
  if (!status.ok()) co_return ErrorReply(std::move(status));
  const absl::StatusOr<std::shared_ptr<StagedShard>> staged =
      table->generation->staging.Open(request->restore_id, **shard);
  if (!staged.ok()) co_return ErrorReply(staged.status());
  if (*staged == nullptr) co_return ServerReply();  // committed already
  co_await LendSpares(**shard, **staged);
  status = co_await ReceiveRows(*request, **staged, call);
  co_return ErrorReply(std::move(status));
}

}  // namespace capstan
