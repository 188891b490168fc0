// Scatter: an update of some rows of some shards.
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/request.h"
#include "server/verbs.h"
#include "wire/check_operands.h"

namespace capstan {
namespace {

// The checks that are possible before the attachments have arrived.
absl::Status CheckScatterSizes(const ServerCall& call,
                               const ShardsCall& found) {
  const std::span<const uint64_t> sizes = call.attachment_sizes();
  if (sizes.size() != 2 * found.shards.size()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "an update of rows of ", found.shards.size(), " shards with ",
        sizes.size(), " attachments; each has rows and values"));
  }
  for (size_t i = 0; i < found.shards.size(); ++i) {
    const uint64_t row_bytes = sizes[2 * i];
    if (row_bytes % sizeof(uint32_t) != 0) {
      return absl::InvalidArgumentError(
          absl::StrCat(found.shards[i]->Name(), ": a list of rows of ",
                       row_bytes, " bytes, which is no multiple of 4"));
    }
    CAPSTAN_RETURN_IF_ERROR(
        CheckUpdate(found, i, row_bytes / sizeof(uint32_t), sizes[2 * i + 1]));
  }
  return absl::OkStatus();
}

absl::StatusOr<ShardUpdate> MakeUpdate(const ShardsCall& found,
                                       const Attachments& attachments,
                                       size_t i) {
  const Shard& shard = *found.shards[i];
  const ShardPart& part = found.request.parts[i];
  ShardUpdate update;
  update.id = found.request.id;
  update.operation = found.request.operation;
  update.dtype = part.dtype;
  update.scale = part.scale;
  update.based_on = part.version;
  update.by_rows = true;
  update.rows = attachments.Rows(2 * i);
  update.values = attachments[2 * i + 1];
  CAPSTAN_RETURN_IF_ERROR(CheckRows(shard, update.rows));
  const absl::StatusOr<bool> skip =
      CheckFinite(found, i, update.values, update.rows, 0);
  if (!skip.ok()) return skip.status();
  update.skip = *skip;
  if (update.operation != Operation::kGradient) {
    CAPSTAN_RETURN_IF_ERROR(
        WithContext(CheckOperands(part.dtype, update.operation, update.values),
                    shard.Name()));
  }
  return update;
}

}  // namespace

Task<ServerReply> ServeScatter(VerbContext& context, ServerCall& call) {
  absl::StatusOr<ShardsCall> found = FindUpdated(context, call);
  if (!found.ok()) co_return ErrorReply(found.status());
  absl::Status check = CheckScatterSizes(call, *found);
  if (!check.ok()) co_return ErrorReply(std::move(check));
  absl::StatusOr<Attachments> attachments = co_await Attachments::Receive(call);
  if (!attachments.ok()) co_return ErrorReply(attachments.status());
  // All updates are checked before one is applied.
  std::vector<ShardUpdate> updates;
  for (size_t i = 0; i < found->shards.size(); ++i) {
    absl::StatusOr<ShardUpdate> update = MakeUpdate(*found, *attachments, i);
    if (!update.ok()) {
      co_await CountRefused(*found->shards[i]);
      co_return ErrorReply(update.status());
    }
    updates.push_back(*std::move(update));
  }
  co_return co_await ApplyAll(*found, std::move(updates), call);
}

}  // namespace capstan
