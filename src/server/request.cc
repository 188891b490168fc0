#include "server/request.h"

#include <algorithm>
#include <asio/this_coro.hpp>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "optimizer/find_nonfinite.h"
#include "server/shard/copy_leased.h"
#include "tensor/view.h"
#include "wire/fence_limits.h"

namespace capstan {
namespace {

// What a pull of these shards in round `round` must wait for.
Rounds::Need NeedOf(uint64_t round, std::span<Shard* const> shards) {
  Rounds::Need need;
  if (round == 0) return need;
  for (const Shard* shard : shards) {
    const UpdateMode& mode = shard->spec().update;
    if (std::holds_alternative<Sync>(mode)) need.committed = round - 1;
    if (const auto* bounded = std::get_if<BoundedStaleness>(&mode)) {
      const auto slack = static_cast<uint64_t>(bounded->bound) + 1;
      if (round > slack) need.clock = std::max(need.clock, round - slack);
    }
  }
  return need;
}

// The least time for which a complete update waits for one that is still
// arriving. A large update needs some tens of milliseconds on a fast network.
constexpr Duration kPatience = std::chrono::milliseconds(100);

// Sets `signal` at `time`, unless the timer is cancelled first.
Task<> SetAt(std::shared_ptr<Timer> timer, MonotonicTime time,
             std::shared_ptr<Signal> signal) {
  const bool reached = co_await timer->SleepUntil(time);
  if (reached) signal->SetHere();
}

bool IsGradientDType(DType dtype) {
  return dtype == DType::kF32 || dtype == DType::kF16 || dtype == DType::kBF16;
}

// A gradient of a synchronous variable must have a place in a round.
absl::Status CheckRound(const Shard& shard, const UpdateId& id) {
  const auto* sync = std::get_if<Sync>(&shard.spec().update);
  if (sync == nullptr) return absl::OkStatus();
  if (id.round == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(shard.Name(),
                     " is updated in synchronous rounds, and a "
                     "gradient came that belongs to none"));
  }
  const auto most = static_cast<uint64_t>(sync->replicas) +
                    static_cast<uint64_t>(sync->backup);
  if (id.replica < most) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(shard.Name(), ": a gradient of replica ", id.replica,
                   ", but there are ", most));
}

bool IsAligned(Bytes bytes) {
  return reinterpret_cast<uintptr_t>(bytes.data()) % 8 == 0;
}

}  // namespace

ServerReply ErrorReply(absl::Status status) {
  ServerReply reply;
  reply.status = std::move(status);
  return reply;
}

absl::StatusOr<Shard*> FindShard(const ShardTable& table, const ShardKey& key,
                                 uint64_t map_version) {
  Shard* shard = table.Find(key);
  if (shard != nullptr) return shard;
  if (map_version > table.map.version()) {
    return absl::UnavailableError(
        absl::StrCat("this server has version ", table.map.version(),
                     " of the shard map, and has not heard of version ",
                     map_version, " yet"));
  }
  const VariableEntry* entry = table.map.Find(key.variable);
  return absl::AbortedError(absl::StrCat(
      "shard ", key.shard, " of variable ",
      entry == nullptr ? absl::StrCat(key.variable)
                       : absl::StrCat("'", entry->spec.name, "'"),
      " is not on this server, which has version ", table.map.version(),
      " of the shard map; the caller has ", map_version));
}

absl::StatusOr<ShardsCall> FindShards(Store& store, const ServerCall& call) {
  absl::StatusOr<ShardsRequest> request = DecodeShardsRequest(call.body());
  if (!request.ok()) return request.status();
  ShardsCall found;
  found.table = store.table();
  const ShardTable& table = *found.table;
  CAPSTAN_RETURN_IF_ERROR(
      store.CheckGeneration(request->id.fence.generation, table));
  found.request = *std::move(request);
  found.store = &store;
  found.generation = table.generation.get();
  found.shards.reserve(found.request.parts.size());
  for (const ShardPart& part : found.request.parts) {
    absl::StatusOr<Shard*> shard =
        FindShard(table, part.key, found.request.map_version);
    if (!shard.ok()) return shard.status();
    found.shards.push_back(*shard);
  }
  return found;
}

absl::StatusOr<ShardsCall> FindUpdated(VerbContext& context,
                                       const ServerCall& call) {
  absl::StatusOr<ShardsCall> found = FindShards(context.store, call);
  if (!found.ok()) return found.status();
  found->clock = &context.clock;
  found->began = context.clock.Now();
  const UpdateId& id = found->request.id;
  CAPSTAN_RETURN_IF_ERROR(context.store.Admit(id.fence, *found->table, call));
  if (id.step == 0) {
    return absl::InvalidArgumentError(
        "an update of step 0, which is none: without a step it could not be "
        "told from another");
  }
  const uint64_t watermark = found->generation->watermark;
  if (id.step > watermark && id.step - watermark > kMostOpenSteps) {
    return absl::InvalidArgumentError(absl::StrCat(
        "an update of step ", id.step, ", but steps are finished only up to ",
        watermark, ", and at most ", kMostOpenSteps, " may be open at once"));
  }
  return found;
}

Task<absl::Status> AwaitRound(Clock& clock, ServerCall& call,
                              const ShardsCall& shards) {
  const Rounds::Need need = NeedOf(shards.request.id.round, shards.shards);
  Rounds& rounds = shards.generation->rounds;
  if (rounds.Met(need)) co_return absl::OkStatus();
  const Executor home = co_await asio::this_coro::executor;
  // The answer must arrive before the caller stops waiting for it.
  const MonotonicTime now = clock.Now();
  const Duration left = call.deadline() - now;
  const Duration margin =
      std::min<Duration>(left / 5, std::chrono::milliseconds(200));
  const MonotonicTime until = call.deadline() - margin;
  while (true) {
    const std::shared_ptr<Signal> changed = rounds.WaitFor(need, home);
    if (changed == nullptr) co_return absl::OkStatus();
    // In a generation that has ended nothing ever changes.
    absl::Status generation =
        shards.store->CheckGeneration(shards.request.id.fence.generation);
    if (!generation.ok()) co_return generation;
    if (call.cancelled()) co_return absl::CancelledError("the caller has gone");
    if (clock.Now() >= until) {
      co_return absl::DeadlineExceededError(
          absl::StrCat("waited for ", rounds.Missing(need)));
    }
    call.OnCancel([changed] { changed->SetHere(); });
    const std::shared_ptr<Timer> timer = clock.NewTimer(home);
    Spawn(home, SetAt(timer, until, changed));
    co_await changed->Wait();
    timer->Cancel();
  }
}

absl::Status CheckUpdate(const ShardsCall& call, size_t i, uint64_t rows,
                         uint64_t value_bytes) {
  const Shard& shard = *call.shards[i];
  const ShardPart& part = call.request.parts[i];
  const Operation operation = call.request.operation;
  if (operation == Operation::kGradient) {
    if (!shard.takes_gradients()) {
      return absl::InvalidArgumentError(
          absl::StrCat(shard.Name(),
                       " has no optimizer, so a gradient means "
                       "nothing to it: assign to it instead"));
    }
    if (!IsGradientDType(part.dtype)) {
      return absl::InvalidArgumentError(absl::StrCat(
          shard.Name(), ": a gradient of ", std::string(NameOf(part.dtype)),
          "; it must be f32, f16 or bf16"));
    }
    CAPSTAN_RETURN_IF_ERROR(CheckRound(shard, call.request.id));
  } else if (part.dtype != shard.spec().dtype) {
    return absl::InvalidArgumentError(absl::StrCat(
        shard.Name(), " is ", std::string(NameOf(shard.spec().dtype)), ", not ",
        std::string(NameOf(part.dtype))));
  }
  const uint64_t expected = rows * shard.row_elements() * SizeOf(part.dtype);
  if (value_bytes != expected) {
    return absl::InvalidArgumentError(
        absl::StrCat(shard.Name(), ": ", rows, " rows of ",
                     shard.row_elements(), " ", std::string(NameOf(part.dtype)),
                     " are ", expected, " bytes, and ", value_bytes, " came"));
  }
  return absl::OkStatus();
}

absl::StatusOr<bool> CheckFinite(const ShardsCall& call, size_t i, Bytes values,
                                 std::span<const uint32_t> rows,
                                 size_t offset) {
  const Shard& shard = *call.shards[i];
  const NonFinite policy = shard.spec().non_finite;
  if (policy == NonFinite::kAccept) return false;
  const std::optional<size_t> found =
      FindNonFinite(call.request.parts[i].dtype, values);
  if (!found) return false;
  if (policy == NonFinite::kSkip) return true;
  const size_t element = offset + *found;
  const size_t size = shard.row_elements();
  const size_t row = rows.empty() ? element / size : rows[element / size];
  return absl::InvalidArgumentError(absl::StrCat(
      shard.Name(),
      call.request.operation == Operation::kGradient ? ": the gradient has"
                                                     : ": the values have",
      " a NaN or infinity in row ",
      shard.first_row() + static_cast<int64_t>(row), ", element ",
      element % size, " of the row; nothing was changed"));
}

absl::Status CheckRange(const Shard& shard, uint32_t part, uint64_t begin,
                        uint64_t end) {
  if (begin > end || end > shard.rows()) {
    return absl::OutOfRangeError(absl::StrCat(shard.Name(), " has ",
                                              shard.rows(), " rows; [", begin,
                                              ", ", end, ") was asked for"));
  }
  if (part > shard.num_slots()) {
    return absl::OutOfRangeError(
        absl::StrCat(shard.Name(), " has ", shard.num_slots(),
                     " slots; number ", part, " was asked for"));
  }
  return absl::OkStatus();
}

absl::Status CheckRows(const Shard& shard, std::span<const uint32_t> rows) {
  uint32_t largest = 0;
  for (const uint32_t row : rows) largest = std::max(largest, row);
  if (rows.empty() || largest < shard.rows()) return absl::OkStatus();
  for (size_t i = 0; i < rows.size(); ++i) {
    if (rows[i] < shard.rows()) continue;
    return absl::OutOfRangeError(absl::StrCat(
        shard.Name(), ": id ", shard.first_row() + int64_t{rows[i]},
        " at position ", i, " is not in [", shard.first_row(), ", ",
        shard.first_row() + static_cast<int64_t>(shard.rows()), ")"));
  }
  return absl::OkStatus();
}

Task<absl::StatusOr<Attachments>> Attachments::Receive(ServerCall& call) {
  const std::span<const uint64_t> sizes = call.attachment_sizes();
  absl::StatusOr<Buffer> received = co_await call.ReceiveAll();
  if (!received.ok()) co_return received.status();
  Attachments attachments;
  attachments.received_ = *std::move(received);
  Bytes left = attachments.received_.bytes();
  attachments.views_.reserve(sizes.size());
  for (const uint64_t size : sizes) {
    Bytes view = left.first(size);
    left = left.subspan(size);
    if (!IsAligned(view)) {
      absl::StatusOr<Buffer> copy = Buffer::Allocate(size, Fill::kNone);
      if (!copy.ok()) co_return copy.status();
      if (size > 0) std::memcpy(copy->data(), view.data(), size);
      attachments.aligned_.push_back(*std::move(copy));
      view = attachments.aligned_.back().bytes();
    }
    attachments.views_.push_back(view);
  }
  co_return attachments;
}

ShardResult ApplyFenced(const ShardsCall& found, size_t i,
                        const ShardUpdate& update, const Executor& home) {
  absl::Status fence = found.store->CheckFence(update.id.fence);
  if (!fence.ok()) {
    ShardResult result;
    result.status = std::move(fence);
    return result;
  }
  return found.shards[i]->Apply(update, found.generation->watermark, home);
}

MonotonicTime PatientUntil(const ShardsCall& found) {
  const MonotonicTime now = found.clock->Now();
  return now + std::max<Duration>(kPatience, now - found.began);
}

Task<ShardResult> ApplyInTurn(const ShardsCall& found, size_t i,
                              const ShardUpdate& update,
                              MonotonicTime patient_until, ServerCall& call) {
  const Executor home = co_await asio::this_coro::executor;
  Clock& clock = *found.clock;
  ShardUpdate attempt = update;
  while (true) {
    attempt.urgent = clock.Now() >= patient_until;
    ShardResult result;
    TurnEntry entry(home,
                    [&] { result = ApplyFenced(found, i, attempt, home); });
    if (!found.shards[i]->turn().Enter(entry)) co_await entry.Done();
    if (result.wait == nullptr && !result.copy_first) co_return result;
    if (call.cancelled()) {
      result.status = absl::CancelledError("the caller has gone");
      co_return result;
    }
    if (result.copy_first) {
      result.status = co_await CopyLeased(*found.shards[i]);
      if (!result.status.ok()) co_return result;
      continue;
    }
    const std::shared_ptr<Signal> wait = result.wait;
    call.OnCancel([wait] { wait->SetHere(); });
    const std::shared_ptr<Timer> timer = clock.NewTimer(home);
    if (!attempt.urgent) Spawn(home, SetAt(timer, patient_until, wait));
    co_await wait->Wait();
    timer->Cancel();
  }
}

UpdateAnswer::UpdateAnswer(const ShardsCall& found)
    : want_values_(found.request.want_values) {
  answer_.outcomes.reserve(found.shards.size());
  answer_.versions.reserve(found.shards.size());
  if (want_values_) {
    leases_ = std::make_shared<std::vector<Lease>>();
    leases_->reserve(found.shards.size());
  }
}

Task<absl::Status> UpdateAnswer::Add(Shard& shard, const ShardResult& result) {
  answer_.outcomes.push_back(result.outcome);
  answer_.versions.push_back(result.version);
  absl::Status status;
  if (!want_values_) co_return status;
  const Executor home = co_await asio::this_coro::executor;
  TurnEntry entry(home, [&] {
    status = shard.CheckReadable();
    if (!status.ok()) return;
    answer_.versions.back() = shard.version();
    leases_->push_back(shard.Pull());
  });
  if (!shard.turn().Enter(entry)) co_await entry.Done();
  co_return status;
}

ServerReply UpdateAnswer::Take() {
  ServerReply reply;
  reply.body = EncodeShardsReply(answer_);
  if (!want_values_) return reply;
  for (const Lease& lease : *leases_)
    reply.attachments.push_back(lease.bytes());
  reply.owner = std::move(leases_);
  return reply;
}

Task<ServerReply> ApplyAll(const ShardsCall& found,
                           std::vector<ShardUpdate> updates, ServerCall& call) {
  const Executor home = co_await asio::this_coro::executor;
  UpdateAnswer answer(found);
  const MonotonicTime patient_until = PatientUntil(found);
  for (size_t i = 0; i < updates.size(); ++i) {
    // Not directly through ApplyInTurn: most turns are free, and a coroutine
    // for each of a thousand shards is not cheap.
    ShardResult result;
    TurnEntry entry(home,
                    [&] { result = ApplyFenced(found, i, updates[i], home); });
    if (!found.shards[i]->turn().Enter(entry)) co_await entry.Done();
    if (result.wait != nullptr || result.copy_first) {
      result = co_await ApplyInTurn(found, i, updates[i], patient_until, call);
    }
    if (result.status.ok()) {
      result.status = co_await answer.Add(*found.shards[i], result);
    }
    if (!result.status.ok()) co_return ErrorReply(result.status);
  }
  co_return answer.Take();
}

Task<> CountRefused(Shard& shard) {
  const Executor home = co_await asio::this_coro::executor;
  TurnEntry entry(home, [&] { shard.CountRefused(); });
  if (!shard.turn().Enter(entry)) co_await entry.Done();
}

}  // namespace capstan
