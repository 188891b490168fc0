#include "server/store.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "wire/fence_limits.h"

namespace capstan {
namespace {

// The table before the first map.
TablePtr EmptyTable() {
  auto table = std::make_shared<ShardTable>();
  table->generation = std::make_shared<Generation>();
  return table;
}

}  // namespace

Shard* ShardTable::Find(const ShardKey& key) const {
  const auto found = shards.find(key);
  return found == shards.end() ? nullptr : found->second.get();
}

Store::Store(StoreOptions options)
    : options_(std::move(options)),
      budget_(std::make_shared<MemoryBudget>(options_.memory_limit)),
      answers_(std::make_shared<MemoryBudget>(options_.answer_limit)),
      table_(EmptyTable()) {}

absl::StatusOr<std::shared_ptr<Values>> Store::AllocateAnswer(
    uint64_t bytes) const {
  if (bytes > answers_->limit()) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "an answer of ", bytes, " bytes; this server gives at most ",
        answers_->limit(), " at once: ask for fewer rows"));
  }
  std::optional<BudgetShare> share = BudgetShare::Take(answers_, bytes);
  if (!share) {
    return absl::UnavailableError(absl::StrCat(
        "answers of ", answers_->used(), " bytes are on their way, and ", bytes,
        " more would exceed ", answers_->limit(), "; try again"));
  }
  absl::StatusOr<Buffer> memory = Buffer::Allocate(bytes, Fill::kNone);
  if (!memory.ok()) return memory.status();
  auto answer = std::make_shared<Values>();
  answer->memory = *std::move(memory);
  answer->share = *std::move(share);
  return answer;
}

absl::Status Store::Fenced(const std::string& what) {
  fenced_.fetch_add(1, std::memory_order_relaxed);
  return absl::FailedPreconditionError(absl::StrCat("fenced: ", what));
}

absl::Status Store::CheckGeneration(uint64_t generation) {
  return CompareGenerations(generation,
                            generation_.load(std::memory_order_acquire));
}

absl::Status Store::CheckGeneration(uint64_t generation,
                                    const ShardTable& table) {
  return CompareGenerations(generation, table.generation->number);
}

absl::Status Store::CompareGenerations(uint64_t generation, uint64_t mine) {
  if (generation == mine) return absl::OkStatus();
  if (generation < mine) {
    return Fenced(absl::StrCat("the caller is of generation ", generation,
                               ", and the job has gone on to ", mine));
  }
  return absl::UnavailableError(absl::StrCat("this server is at generation ",
                                             mine, " and has not heard ", "of ",
                                             generation, " yet"));
}

absl::Status Store::CheckTerm(uint64_t term) {
  const uint64_t mine = this->term();
  if (term == mine) return absl::OkStatus();
  if (term < mine) {
    return Fenced(absl::StrCat("the caller follows the coordinator of term ",
                               term, ", but that of term ", mine,
                               " has taken over"));
  }
  return absl::UnavailableError(
      absl::StrCat("this server follows the coordinator of term ", mine,
                   " and has not heard from one of term ", term, " yet"));
}

absl::Status Store::RaiseTerm(uint64_t term, const ServerCall& call) {
  if (term >= kTermLimit) {
    return absl::InvalidArgumentError(
        absl::StrCat("term ", term, ", and terms are below ", kTermLimit));
  }
  if (call.peer().role == "chief" && term > this->term()) {
    const std::lock_guard lock(mutex_);
    if (term > this->term()) term_.store(term, std::memory_order_relaxed);
  }
  return CheckTerm(term);
}

absl::Status Store::Admit(const Fence& fence, const ShardTable& table,
                          const ServerCall& call) {
  CAPSTAN_RETURN_IF_ERROR(CheckGeneration(fence.generation, table));
  return RaiseTerm(fence.term, call);
}

absl::Status Store::CheckFence(const Fence& fence) {
  CAPSTAN_RETURN_IF_ERROR(CheckGeneration(fence.generation));
  return CheckTerm(fence.term);
}

absl::Status Store::SetWatermark(const WatermarkRequest& request) {
  const TablePtr table = this->table();
  Generation& generation = *table->generation;
  // The fence is checked under the mutex: once a new coordinator has raised
  // the term and read the record, the old one cannot replace it.
  const std::lock_guard lock(generation.mutex);
  CAPSTAN_RETURN_IF_ERROR(CheckFence(request.fence));
  if (request.fence.generation != generation.number) {
    return absl::UnavailableError(
        "another generation has just begun; try again");
  }
  if (request.watermark < generation.watermark) return absl::OkStatus();
  generation.watermark = request.watermark;
  if (!request.record.empty()) generation.record = request.record;
  return absl::OkStatus();
}

Task<> Store::EndIdleSnapshot(MonotonicTime now) {
  SnapshotPtr idle = table()->generation->snapshots.TakeIdle(now);
  if (idle != nullptr) co_await EndSnapshot(std::move(idle));
}

}  // namespace capstan
