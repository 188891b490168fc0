// Read: a range of rows of one shard, or of one of its slots.
#include <asio/this_coro.hpp>
#include <cstring>
#include <memory>
#include <utility>

#include "server/request.h"
#include "server/verbs.h"

namespace capstan {

Task<ServerReply> ServeRead(VerbContext& context, ServerCall& call) {
  const absl::StatusOr<ReadRequest> request = DecodeReadRequest(call.body());
  if (!request.ok()) co_return ErrorReply(request.status());
  const TablePtr table = context.store.table();
  absl::Status fence =
      context.store.CheckGeneration(request->generation, *table);
  if (!fence.ok()) co_return ErrorReply(std::move(fence));
  const absl::StatusOr<Shard*> found =
      FindShard(*table, request->key, request->map_version);
  if (!found.ok()) co_return ErrorReply(found.status());
  Shard& shard = **found;
  absl::Status range =
      CheckRange(shard, request->slot, request->begin, request->end);
  if (!range.ok()) co_return ErrorReply(std::move(range));
  const size_t row_bytes = shard.part_row_bytes(request->slot);
  const size_t offset = request->begin * row_bytes;
  const size_t size = (request->end - request->begin) * row_bytes;
  // Slots change in place, so they are copied.
  std::shared_ptr<Values> copy;
  if (request->slot != 0) {
    absl::StatusOr<std::shared_ptr<Values>> memory =
        context.store.AllocateAnswer(size);
    if (!memory.ok()) co_return ErrorReply(memory.status());
    copy = *std::move(memory);
  }
  const Executor home = co_await asio::this_coro::executor;
  ServerReply reply;
  ShardsReply answer;
  TurnEntry entry(home, [&] {
    reply.status = shard.CheckReadable();
    if (!reply.status.ok()) return;
    answer.versions = {shard.version()};
    if (request->slot == 0) {
      auto lease = std::make_shared<Lease>(shard.Pull());
      reply.attachments = {lease->bytes().subspan(offset, size)};
      reply.owner = std::move(lease);
    } else if (size > 0) {
      const Bytes slot = shard.Slot(request->slot);
      std::memcpy(copy->memory.data(), slot.data() + offset, size);
    }
  });
  if (!shard.turn().Enter(entry)) co_await entry.Done();
  if (!reply.status.ok()) co_return reply;
  if (request->slot != 0) {
    reply.attachments = {copy->memory.bytes()};
    reply.owner = std::move(copy);
  }
  reply.body = EncodeShardsReply(answer);
  co_return reply;
}

}  // namespace capstan
