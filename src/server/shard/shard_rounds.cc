// The part of a shard that collects the contributions to a synchronous round
// and applies them as one update.
#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "optimizer/accumulate.h"
#include "optimizer/widen.h"
#include "server/shard/shard.h"
#include "server/shard/sum_rows.h"

namespace capstan {
namespace {

// A worker cannot be further ahead of the last commit than this; more is a
// mistake that would fill the memory.
constexpr uint64_t kMostRoundsAhead = 64;

// Elements that are summed at a time, in the cache.
constexpr size_t kBlock = 4096;

}  // namespace

ShardResult Shard::Stage(const ShardUpdate& update) {
  const UpdateId& id = update.id;
  if (id.round <= committed_round_) {
    ++report_.dropped;
    return Answer(Outcome::kDropped);
  }
  if (id.round > committed_round_ + kMostRoundsAhead) {
    return Refuse(absl::FailedPreconditionError(absl::StrCat(
        Name(), ": a gradient of round ", id.round,
        ", but the last that was committed is ", committed_round_)));
  }
  Contributions& round = staged_[id.round];
  const auto place = std::pair(id.replica, id.push);
  if (round.contains(place)) {
    ++report_.duplicates;
    return Answer(Outcome::kStaged);
  }
  const uint64_t bytes = update.values.size() + update.rows.size_bytes();
  std::optional<BudgetShare> share = BudgetShare::Take(budget_, bytes);
  if (!share) {
    return Refuse(absl::ResourceExhaustedError(absl::StrCat(
        Name(), ": no memory for a gradient of ", bytes,
        " bytes until its round is complete; the limit for this server is ",
        budget_->limit())));
  }
  absl::StatusOr<Buffer> values =
      Buffer::Allocate(update.values.size(), Fill::kNone);
  if (!values.ok()) return Refuse(WithContext(values.status(), Name()));
  if (!update.values.empty()) {
    std::memcpy(values->data(), update.values.data(), update.values.size());
  }
  Contribution contribution;
  contribution.step = id.step;
  contribution.dtype = update.dtype;
  contribution.scale = update.scale;
  contribution.by_rows = update.by_rows;
  contribution.rows.assign(update.rows.begin(), update.rows.end());
  contribution.values = *std::move(values);
  contribution.share = *std::move(share);
  round.emplace(place, std::move(contribution));
  last_step_ = std::max(last_step_, id.step);
  return Answer(Outcome::kStaged);
}

absl::Status Shard::CommitRound(uint64_t round,
                                std::span<const uint32_t> replicas,
                                uint64_t watermark) {
  if (dropped_ || !std::holds_alternative<Sync>(spec_.update) ||
      round <= committed_round_) {
    return absl::OkStatus();
  }
  // Rounds are committed in order, so contributions to an earlier round have
  // missed it, as can happen on a new shard.
  while (!staged_.empty() && staged_.begin()->first < round) {
    report_.dropped += staged_.begin()->second.size();
    staged_.erase(staged_.begin());
  }
  Contributions& all = staged_[round];
  Contributions chosen;
  uint64_t late = 0;
  for (auto& [place, contribution] : all) {
    const bool counts = std::find(replicas.begin(), replicas.end(),
                                  place.first) != replicas.end();
    if (counts) {
      chosen.emplace(place, std::move(contribution));
    } else {
      ++late;
    }
  }
  if (spec_.aggregation == Aggregation::kOnlyFirstReplica &&
      !replicas.empty()) {
    // The first of all replicas, even if it has nothing for this shard.
    const uint32_t first = *std::min_element(replicas.begin(), replicas.end());
    std::erase_if(chosen, [first](const auto& item) {
      return item.first.first != first;
    });
  }
  if (!chosen.empty()) {
    const double scale = spec_.aggregation == Aggregation::kMean
                             ? 1.0 / static_cast<double>(replicas.size())
                             : 1.0;
    absl::Status status = ApplyContributions(chosen, scale);
    if (!status.ok()) {
      // As if the commit had not been requested: it can be tried again.
      for (auto& [place, contribution] : chosen) {
        all[place] = std::move(contribution);
      }
      return status;
    }
    for (const auto& [place, contribution] : chosen) {
      Record(contribution.step, place.second, watermark);
    }
    report_.applied += chosen.size();
    ++version_;
  }
  report_.dropped += late;
  committed_round_ = round;
  staged_.erase(round);
  return absl::OkStatus();
}

absl::Status Shard::ApplyContributions(const Contributions& contributions,
                                       double scale) {
  std::vector<RowGradients> batches;
  bool dense = false;
  for (const auto& [place, contribution] : contributions) {
    batches.push_back({.rows = contribution.rows,
                       .dtype = contribution.dtype,
                       .values = contribution.values.data(),
                       .scale = contribution.scale});
    dense |= !contribution.by_rows;
  }
  if (!dense) {
    const RowSums sums = SumRows(batches, row_elements_);
    RowsUpdate rows;
    rows.gradients = reinterpret_cast<const std::byte*>(sums.values.data());
    rows.rows = sums.rows;
    return ApplyRows(rows, scale, 0);
  }
  absl::StatusOr<Buffer> memory =
      Buffer::Allocate(elements() * sizeof(float), Fill::kZero);
  if (!memory.ok()) return WithContext(memory.status(), Name());
  const std::span<float> sum(reinterpret_cast<float*>(memory->data()),
                             elements());
  std::array<float, kBlock> block;
  for (const auto& [place, contribution] : contributions) {
    const size_t size = SizeOf(contribution.dtype);
    const size_t pieces = contribution.by_rows ? contribution.rows.size() : 1;
    const size_t piece = contribution.by_rows ? row_elements_ : elements();
    for (size_t p = 0; p < pieces; ++p) {
      const size_t start =
          contribution.by_rows ? contribution.rows[p] * row_elements_ : 0;
      for (size_t i = 0; i < piece; i += kBlock) {
        const size_t count = std::min(kBlock, piece - i);
        Widen(contribution.dtype,
              contribution.values.data() + (p * piece + i) * size, count,
              block.data());
        Accumulate(std::span(block).first(count), contribution.scale,
                   sum.subspan(start + i, count));
      }
    }
  }
  return ApplyDense(DType::kF32, memory->bytes(), scale, 0);
}

}  // namespace capstan
