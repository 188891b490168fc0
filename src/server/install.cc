// Installs a shard map: creates the shards that are new on this server, drops
// those that are gone, and gives the others the map's learning rates.
#include <algorithm>
#include <asio/post.hpp>
#include <asio/this_coro.hpp>
#include <asio/use_awaitable.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/store.h"
#include "wire/shard_map_codec.h"

namespace capstan {
namespace {

// Rows are filled this many bytes at a time, which takes a few milliseconds, so
// that the thread serves other calls and keepalives in between.
constexpr size_t kFillBytes = 1 << 20;

// The number of replicas that the clocks of bounded staleness have.
uint32_t ReplicasOf(const ShardMap& map) {
  int replicas = 0;
  for (const VariableEntry& entry : map.entries()) {
    if (const auto* mode = std::get_if<BoundedStaleness>(&entry.spec.update)) {
      replicas = std::max(replicas, mode->replicas);
    }
  }
  return static_cast<uint32_t>(replicas);
}

}  // namespace

absl::StatusOr<std::shared_ptr<ShardTable>> Store::NewTable(
    const InstallRequest& request, const ServerCall& call) {
  absl::StatusOr<ShardMap> map = DecodeShardMap(request.map);
  if (!map.ok()) return map.status();
  const TablePtr current = this->table();
  const ShardTable& old = *current;
  if (map->version() == 0) {
    return absl::InvalidArgumentError(
        "a shard map of version 0, which stands for none: they count from 1");
  }
  if (map->generation() < old.map.generation()) {
    return Fenced(absl::StrCat("a shard map of generation ", map->generation(),
                               ", and the job has gone on to ",
                               old.map.generation()));
  }
  const bool same_generation =
      map->generation() == old.map.generation() && old.map.version() != 0;
  if (request.follows && !same_generation) {
    return absl::AbortedError(
        absl::StrCat("this server was started again, and has lost the "
                     "variables of generation ",
                     map->generation()));
  }
  CAPSTAN_RETURN_IF_ERROR(RaiseTerm(request.term, call));
  if (same_generation && map->version() < old.map.version()) {
    return Fenced(absl::StrCat("a shard map of version ", map->version(),
                               ", and there is one of version ",
                               old.map.version()));
  }
  // Shards are identified by ids, which another map may use for other shards.
  if (same_generation && map->version() == old.map.version() &&
      request.map != old.encoded_map) {
    return absl::FailedPreconditionError(
        absl::StrCat("there is another shard map of version ", map->version()));
  }
  auto table = std::make_shared<ShardTable>();
  table->encoded_map = request.map;
  table->map = *std::move(map);
  if (same_generation) {
    table->generation = old.generation;
  } else {
    table->generation = std::make_shared<Generation>();
    table->generation->number = table->map.generation();
    table->generation->watermark = request.watermark;
    table->generation->record = request.record;
  }
  for (const VariableEntry& entry : table->map.entries()) {
    for (uint32_t i = 0; i < entry.shards.size(); ++i) {
      if (entry.shards[i].server != options_.server) continue;
      const ShardKey key = {.variable = entry.id, .shard = i};
      std::shared_ptr<Shard> shard;
      if (const auto found = old.shards.find(key);
          same_generation && found != old.shards.end()) {
        shard = found->second;
      }
      table->shards.emplace(key, std::move(shard));
    }
  }
  return table;
}

absl::StatusOr<Store::NewUpdaters> Store::ChangedUpdaters(
    const ShardTable& table) {
  NewUpdaters updaters;
  for (const auto& [key, shard] : table.shards) {
    if (shard == nullptr || !shard->takes_gradients()) continue;
    const VariableEntry& entry = *table.map.Find(key.variable);
    // Slots stay, so they must keep their meaning.
    if (!entry.spec.optimizer || entry.spec.optimizer->rule.index() !=
                                     shard->spec().optimizer->rule.index()) {
      return absl::InvalidArgumentError(absl::StrCat(
          shard->Name(), ": the rule of its optimizer cannot change"));
    }
    absl::StatusOr<std::unique_ptr<const Updater>> updater =
        Updater::Make(*entry.spec.optimizer);
    if (!updater.ok()) return WithContext(updater.status(), shard->Name());
    if ((*updater)->slots().size() != shard->num_slots()) {
      return absl::InvalidArgumentError(absl::StrCat(
          shard->Name(), ": the slots of its optimizer cannot change"));
    }
    updaters.emplace_back(shard, *std::move(updater));
  }
  return updaters;
}

Task<> Store::FreeSpares() {
  const Executor home = co_await asio::this_coro::executor;
  const TablePtr table = this->table();
  for (const auto& [key, owned] : table->shards) {
    Shard& shard = *owned;
    TurnEntry entry(home, [&] {
      shard.FreeSpares();
      shard.Forget(table->generation->watermark);
    });
    if (!shard.turn().Enter(entry)) co_await entry.Done();
  }
}

Task<absl::Status> Store::CreateShards(ShardTable& table) {
  const Executor executor = co_await asio::this_coro::executor;
  for (auto& [key, slot] : table.shards) {
    if (slot != nullptr) continue;
    absl::StatusOr<std::shared_ptr<Shard>> shard =
        Shard::Create(*table.map.Find(key.variable), key.shard, budget_);
    if (absl::IsResourceExhausted(shard.status())) {
      co_await FreeSpares();
      shard = Shard::Create(*table.map.Find(key.variable), key.shard, budget_);
    }
    if (!shard.ok()) co_return shard.status();
    slot = *std::move(shard);
    slot->JoinRounds(table.generation->rounds.committed());
    const size_t rows = slot->rows();
    // An orthogonal matrix must be made in one go.
    const size_t step =
        std::holds_alternative<Orthogonal>(slot->spec().initializer)
            ? rows
            : kFillBytes / std::max<size_t>(1, slot->row_bytes());
    size_t begin = 0;
    do {
      const size_t end = std::min(rows, begin + std::max<size_t>(1, step));
      CAPSTAN_CO_RETURN_IF_ERROR(slot->Fill(begin, end));
      begin = end;
      co_await asio::post(executor, asio::use_awaitable);
    } while (begin < rows);
  }
  co_return absl::OkStatus();
}

Task<absl::Status> Store::Publish(std::shared_ptr<ShardTable> table,
                                  uint64_t term) {
  const Executor home = co_await asio::this_coro::executor;
  const TablePtr before = this->table();
  const ShardTable& old = *before;
  const ShardTable& now = *table;
  {
    const std::lock_guard lock(mutex_);
    CAPSTAN_CO_RETURN_IF_ERROR(CheckTerm(term));
    now.generation->rounds.SetReplicas(ReplicasOf(now.map));
    table_.Replace(table);
    generation_.store(now.generation->number, std::memory_order_release);
  }
  for (const auto& [key, shard] : old.shards) {
    const auto found = now.shards.find(key);
    if (found != now.shards.end() && found->second == shard) continue;
    Shard* dropped = shard.get();
    uint64_t last_step = 0;
    TurnEntry entry(home, [dropped, &last_step] {
      last_step = dropped->last_step();
      dropped->Drop();
    });
    if (!dropped->turn().Enter(entry)) co_await entry.Done();
    std::atomic<uint64_t>& last = old.generation->last_step;
    // One map at a time is installed, so nobody else writes it.
    last = std::max(last.load(), last_step);
  }
  if (now.generation != old.generation) {
    old.generation->rounds.Close();
    old.generation->snapshots.Close();
    old.generation->staging.Close();
  }
  co_return absl::OkStatus();
}

Task<absl::Status> Store::Replace(const InstallRequest& request,
                                  const ServerCall& call) {
  absl::StatusOr<std::shared_ptr<ShardTable>> table = NewTable(request, call);
  if (!table.ok()) co_return table.status();
  if ((*table)->generation != this->table()->generation) {
    // The old contents are worthless now, and their memory is needed.
    auto empty = std::make_shared<ShardTable>();
    empty->generation = (*table)->generation;
    absl::StatusOr<ShardMap> map =
        ShardMap::Make((*table)->map.generation(), 0, (*table)->map.servers(),
                       {}, (*table)->map.next_id());
    if (!map.ok()) co_return map.status();
    empty->map = *std::move(map);
    empty->encoded_map = EncodeShardMap(empty->map);
    absl::Status emptied = co_await Publish(std::move(empty), request.term);
    if (!emptied.ok()) co_return emptied;
  }
  const absl::StatusOr<NewUpdaters> updaters = ChangedUpdaters(**table);
  if (!updaters.ok()) co_return updaters.status();
  absl::Status status = co_await CreateShards(**table);
  if (!status.ok()) co_return status;
  status = co_await Publish(*std::move(table), request.term);
  if (!status.ok()) co_return status;
  const Executor home = co_await asio::this_coro::executor;
  for (const auto& [kept, updater] : *updaters) {
    Shard& shard = *kept;
    const std::shared_ptr<const Updater>& next = updater;
    TurnEntry entry(home, [&] {
      status = CheckTerm(request.term);
      if (status.ok()) shard.SetUpdater(next);
    });
    if (!shard.turn().Enter(entry)) co_await entry.Done();
    if (!status.ok()) co_return status;
  }
  co_return absl::OkStatus();
}

Task<absl::Status> Store::Install(InstallRequest request,
                                  const ServerCall& call) {
  {
    const std::lock_guard lock(mutex_);
    if (installing_) {
      co_return absl::UnavailableError(
          "another shard map is being installed; try again");
    }
    installing_ = true;
  }
  absl::Status status = co_await Replace(request, call);
  const std::lock_guard lock(mutex_);
  installing_ = false;
  co_return status;
}

}  // namespace capstan
