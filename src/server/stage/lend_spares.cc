#include "server/stage/lend_spares.h"

#include <asio/this_coro.hpp>

#include "server/shard/turn.h"

namespace capstan {

Task<> LendSpares(Shard& shard, StagedShard& staged) {
  if (!staged.AsksForSpares()) co_return;
  const Executor home = co_await asio::this_coro::executor;
  TurnEntry entry(home, [&] { staged.Lend(shard.TakeSpares()); });
  if (!shard.turn().Enter(entry)) co_await entry.Done();
}

}  // namespace capstan
