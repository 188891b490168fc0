#include "client/plan_rows.h"

#include <algorithm>
#include <bit>
#include <numeric>

#include "absl/strings/str_cat.h"

namespace capstan {
namespace {

absl::Status CheckIds(const VariableEntry& entry,
                      std::span<const int64_t> ids) {
  const int64_t rows = entry.spec.shape.num_rows();
  uint64_t largest = 0;  // a negative id becomes very large
  for (const int64_t id : ids) {
    largest = std::max(largest, static_cast<uint64_t>(id));
  }
  if (ids.empty() || largest < static_cast<uint64_t>(rows)) {
    return absl::OkStatus();
  }
  for (size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] >= 0 && ids[i] < rows) continue;
    return absl::OutOfRangeError(absl::StrCat("variable '", entry.spec.name,
                                              "': id ", ids[i], " at position ",
                                              i, " is not in [0, ", rows, ")"));
  }
  return absl::OkStatus();
}

// Numbers ids in the order in which they first appear. Open addressing in a
// table of the ids' positions takes a third of the time of a general hash map:
// this runs for every lookup of every step.
class Numbering {
 public:
  explicit Numbering(size_t most)
      : shift_(64 - static_cast<int>(
                        std::bit_width(std::max<size_t>(2 * most, 16) - 1))),
        table_(size_t{1} << (64 - shift_)) {}

  // Returns the number of `id` in `unique`, adding it if it is new.
  uint32_t Find(int64_t id, std::vector<int64_t>& unique) {
    const size_t mask = table_.size() - 1;
    // Fibonacci hashing: the upper bits of the product are well mixed.
    size_t i = (static_cast<uint64_t>(id) * 0x9e3779b97f4a7c15) >> shift_;
    while (table_[i] != 0) {
      const uint32_t number = table_[i] - 1;
      if (unique[number] == id) return number;
      i = (i + 1) & mask;
    }
    unique.push_back(id);
    table_[i] = static_cast<uint32_t>(unique.size());
    return static_cast<uint32_t>(unique.size() - 1);
  }

 private:
  const int shift_;
  std::vector<uint32_t> table_;  // number + 1; 0: empty
};

// Fills in `plan.shards`; updates `plan.place` if that changes the order.
void SplitByShard(const VariableEntry& entry, std::span<const int64_t> rows,
                  RowPlan& plan) {
  if (entry.shards.size() == 1) {
    ShardRows all;
    all.rows.resize(rows.size());
    for (size_t i = 0; i < rows.size(); ++i) {
      all.rows[i] = static_cast<uint32_t>(rows[i]);
    }
    if (!rows.empty()) plan.shards.push_back(std::move(all));
    return;
  }
  std::vector<uint32_t> shard_of(rows.size());
  std::vector<uint32_t> starts(entry.shards.size() + 1);
  for (size_t i = 0; i < rows.size(); ++i) {
    shard_of[i] = static_cast<uint32_t>(entry.ShardOf(rows[i]));
    ++starts[shard_of[i] + 1];
  }
  std::partial_sum(starts.begin(), starts.end(), starts.begin());
  std::vector<ShardRows> shards(entry.shards.size());
  for (uint32_t s = 0; s < shards.size(); ++s) {
    shards[s].shard = s;
    shards[s].rows.reserve(starts[s + 1] - starts[s]);
  }
  std::vector<uint32_t> moved(rows.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    ShardRows& shard = shards[shard_of[i]];
    moved[i] = starts[shard_of[i]] + static_cast<uint32_t>(shard.rows.size());
    shard.rows.push_back(
        static_cast<uint32_t>(rows[i] - entry.shards[shard_of[i]].begin));
  }
  for (uint32_t& place : plan.place) place = moved[place];
  std::erase_if(shards, [](const ShardRows& s) { return s.rows.empty(); });
  plan.shards = std::move(shards);
}

}  // namespace

absl::StatusOr<RowPlan> PlanRows(const VariableEntry& entry,
                                 std::span<const int64_t> ids, bool unique) {
  if (ids.size() >= UINT32_MAX) {
    return absl::InvalidArgumentError(
        absl::StrCat("variable '", entry.spec.name, "': ", ids.size(),
                     " ids at once; at most ", UINT32_MAX - 1));
  }
  CAPSTAN_RETURN_IF_ERROR(CheckIds(entry, ids));
  RowPlan plan;
  plan.place.resize(ids.size());
  if (unique) {
    std::vector<int64_t> rows;
    rows.reserve(ids.size());
    Numbering numbering(ids.size());
    for (size_t i = 0; i < ids.size(); ++i) {
      plan.place[i] = numbering.Find(ids[i], rows);
    }
    plan.num_rows = rows.size();
    SplitByShard(entry, rows, plan);
  } else {
    std::iota(plan.place.begin(), plan.place.end(), 0U);
    plan.num_rows = ids.size();
    SplitByShard(entry, ids, plan);
  }
  plan.by_appearance = plan.shards.size() <= 1;
  plan.in_order = plan.num_rows == ids.size();
  for (size_t i = 0; plan.in_order && i < plan.place.size(); ++i) {
    plan.in_order = plan.place[i] == i;
  }
  return plan;
}

}  // namespace capstan
