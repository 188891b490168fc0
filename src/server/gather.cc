// Gather: some rows of some shards.
#include <asio/this_coro.hpp>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/checked_math.h"
#include "server/request.h"
#include "server/verbs.h"

namespace capstan {
namespace {

// OK if each part has its rows, and they are in range.
absl::Status CheckGather(const ServerCall& call, const ShardsCall& found) {
  const std::span<const uint64_t> sizes = call.attachment_sizes();
  if (sizes.size() != found.shards.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("rows of ", found.shards.size(), " shards with ",
                     sizes.size(), " lists of them"));
  }
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] % sizeof(uint32_t) != 0) {
      return absl::InvalidArgumentError(
          absl::StrCat(found.shards[i]->Name(), ": a list of rows of ",
                       sizes[i], " bytes, which is no multiple of 4"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

Task<ServerReply> ServeGather(VerbContext& context, ServerCall& call) {
  absl::StatusOr<ShardsCall> found = FindShards(context.store, call);
  if (!found.ok()) co_return ErrorReply(found.status());
  absl::Status check = CheckGather(call, *found);
  if (!check.ok()) co_return ErrorReply(std::move(check));
  absl::StatusOr<Attachments> rows = co_await Attachments::Receive(call);
  if (!rows.ok()) co_return ErrorReply(rows.status());
  const size_t count = found->shards.size();
  uint64_t total = 0;
  for (size_t i = 0; i < count; ++i) {
    const Shard& shard = *found->shards[i];
    check = CheckRows(shard, rows->Rows(i));
    if (!check.ok()) co_return ErrorReply(std::move(check));
    // A row may be requested any number of times.
    const std::optional<uint64_t> bytes =
        CheckedMul<uint64_t>(rows->Rows(i).size(), shard.row_bytes());
    total = CheckedAdd<uint64_t>(total, bytes.value_or(UINT64_MAX))
                .value_or(UINT64_MAX);
  }
  // Before allocating memory: rows may be large although lists of them are
  // small.
  if (total > call.reply_limit()) {
    co_return ErrorReply(absl::ResourceExhaustedError(
        absl::StrCat("the rows have ", total, " bytes, but the caller allows ",
                     call.reply_limit())));
  }
  check = co_await AwaitRound(context.clock, call, *found);
  if (!check.ok()) co_return ErrorReply(std::move(check));
  absl::StatusOr<std::shared_ptr<Values>> values =
      context.store.AllocateAnswer(total);
  if (!values.ok()) co_return ErrorReply(values.status());
  Buffer& memory = (*values)->memory;
  const Executor home = co_await asio::this_coro::executor;
  ServerReply reply;
  ShardsReply answer;
  size_t offset = 0;
  for (size_t i = 0; i < count; ++i) {
    Shard& shard = *found->shards[i];
    const std::span<const uint32_t> wanted = rows->Rows(i);
    std::byte* out = memory.data() + offset;
    TurnEntry entry(home, [&] {
      reply.status = shard.CheckReadable();
      if (!reply.status.ok()) return;
      answer.versions.push_back(shard.version());
      shard.Gather(wanted, out);
    });
    if (!shard.turn().Enter(entry)) co_await entry.Done();
    if (!reply.status.ok()) co_return reply;
    const size_t size = wanted.size() * shard.row_bytes();
    reply.attachments.push_back(memory.bytes().subspan(offset, size));
    offset += size;
  }
  reply.body = EncodeShardsReply(answer);
  reply.owner = *std::move(values);
  co_return reply;
}

}  // namespace capstan
