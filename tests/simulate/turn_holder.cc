#include "simulate/turn_holder.h"

#include <iterator>

namespace capstan::simulate {
namespace {

constexpr Duration kBetween = std::chrono::milliseconds(10);
constexpr Duration kLongest = std::chrono::milliseconds(10);

Task<> Sleep(SimNode& node, Timer& timer, Random& random, Duration most) {
  const MonotonicTime until =
      node.clock().Now() + Duration(random.Between(1, most.count()));
  co_await timer.SleepUntil(until);
}

}  // namespace

Task<> HoldTurns(SimNode& node, const Store& store) {
  Random random = node.NewRandom("turns");
  const std::unique_ptr<Timer> timer = node.clock().NewTimer(node.executor());
  while (true) {
    co_await Sleep(node, *timer, random, kBetween);
    const TablePtr table = store.table();
    const auto& shards = table->shards;
    if (shards.empty()) continue;
    const auto chosen = std::next(
        shards.begin(), static_cast<ptrdiff_t>(random.Below(shards.size())));
    Turn& turn = chosen->second->turn();
    if (!turn.TryHold()) continue;
    co_await Sleep(node, *timer, random, kLongest);
    turn.Release();
  }
}

}  // namespace capstan::simulate
