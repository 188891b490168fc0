#include "server/shard/copy_leased.h"

#include <algorithm>
#include <asio/post.hpp>
#include <asio/this_coro.hpp>
#include <asio/use_awaitable.hpp>
#include <cstring>
#include <memory>

#include "server/shard/turn.h"

namespace capstan {
namespace {

// Takes a millisecond or two, mostly in the kernel, which clears new memory.
constexpr size_t kCopyPieceBytes = 4 << 20;

Task<> CopyPart(const Lease& from, Values& to) {
  const Executor home = co_await asio::this_coro::executor;
  const Bytes bytes = from.bytes();
  for (size_t offset = 0; offset < bytes.size(); offset += kCopyPieceBytes) {
    const Bytes piece =
        bytes.subspan(offset, std::min(kCopyPieceBytes, bytes.size() - offset));
    std::memcpy(to.memory.data() + offset, piece.data(), piece.size());
    co_await asio::post(home, asio::use_awaitable);
  }
}

}  // namespace

Task<absl::Status> CopyLeased(Shard& shard) {
  const Executor home = co_await asio::this_coro::executor;
  absl::StatusOr<std::unique_ptr<PartCopies>> begun;
  TurnEntry begin(home, [&] { begun = shard.BeginCopy(); });
  if (!shard.turn().Enter(begin)) co_await begin.Done();
  if (!begun.ok()) co_return begun.status();
  const std::unique_ptr<PartCopies> copies = *std::move(begun);
  if (copies == nullptr) co_return absl::OkStatus();
  for (size_t part = 0; part < kMaxParts; ++part) {
    if (copies->to[part] == nullptr) continue;
    co_await CopyPart(*copies->from[part], *copies->to[part]);
  }
  TurnEntry end(home, [&] { shard.EndCopy(*copies); });
  if (!shard.turn().Enter(end)) co_await end.Done();
  co_return absl::OkStatus();
}

}  // namespace capstan
