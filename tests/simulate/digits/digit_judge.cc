#include "simulate/digits/digit_judge.h"

#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "simulate/digits/drift_reference.h"

namespace capstan::simulate {

DigitJudge::DigitJudge(SimWorld& world, Violations& violations,
                       const DigitOptions& options,
                       const DigitVariables& variables)
    : world_(world),
      violations_(violations),
      options_(options),
      variables_(variables) {}

void DigitJudge::Violation(std::string_view what) {
  violations_.Add(world_.clock().Now(), what);
}

bool DigitJudge::IsSync(size_t shard) const {
  return variables_.IsSync(
      static_cast<DigitVariable>(shard / variables_.shards()));
}

std::string DigitJudge::NameOfShard(size_t shard) const {
  const size_t count = variables_.shards();
  return absl::StrCat(shard < count ? "dense" : "rows", ", shard ",
                      shard % count);
}

void DigitJudge::OnGeneration(uint64_t generation, size_t first_slot) {
  Generation& started = generations_[generation];
  started.first_slot = first_slot;
  started.shards.resize(kDigitVariables * variables_.shards());
  current_ = generation;
}

bool DigitJudge::OnTakeover(const Fence& fence, const DigitValues& values) {
  Generation& generation = generations_.at(fence.generation);
  generation.term = fence.term;
  bool effective = false;
  for (size_t i = 0; i < generation.shards.size(); ++i) {
    const auto variable = static_cast<DigitVariable>(i / variables_.shards());
    const Decoded decoded = variables_.Decode(
        variable, ValuesOf(values, variable), i % variables_.shards());
    generation.shards[i].OnTakeover(decoded.slots);
    if (!IsSync(i) || generation.rounds.empty()) continue;
    effective |= decoded.slots.Contains(generation.rounds.back()[0]);
  }
  if (effective || generation.rounds.empty()) return effective;
  generation.rounds.pop_back();
  generation.up_to_round.pop_back();
  return false;
}

void DigitJudge::OnCommit(const Fence& fence, const RoundDecision& decision) {
  Generation& generation = generations_.at(fence.generation);
  if (generation.rounds.size() < decision.round) {
    SlotSet all;
    if (!generation.up_to_round.empty()) all = generation.up_to_round.back();
    for (const size_t slot : decision.slots) all.Insert(slot);
    generation.rounds.push_back(decision.slots);
    generation.up_to_round.push_back(std::move(all));
  }
  for (size_t i = 0; i < generation.shards.size(); ++i) {
    if (!IsSync(i)) continue;
    for (const size_t slot : decision.slots) {
      generation.shards[i].OnInvoke(slot);
    }
  }
}

void DigitJudge::OnCommitted(const Fence& fence,
                             const RoundDecision& decision) {
  Generation& generation = generations_.at(fence.generation);
  for (size_t i = 0; i < generation.shards.size(); ++i) {
    if (!IsSync(i)) continue;
    for (const size_t slot : decision.slots) generation.shards[i].OnAck(slot);
  }
}

void DigitJudge::OnInvoke(const Fence& fence, size_t slot) {
  ++tally_.requests;
  Generation& generation = generations_.at(fence.generation);
  // All servers refuse the update.
  if (fence.term < generation.term) return;
  for (size_t i = 0; i < generation.shards.size(); ++i) {
    if (!IsSync(i)) generation.shards[i].OnInvoke(slot);
  }
}

void DigitJudge::OnAck(const Fence& fence, size_t slot,
                       const UpdateResult& summary) {
  ++tally_.replies;
  Generation& generation = generations_.at(fence.generation);
  uint64_t shards = variables_.has_drift() ? variables_.shards() : 0;
  uint64_t at_once = 0;  // of them, those that do not wait for a round
  for (size_t i = 0; i < generation.shards.size(); ++i) {
    ++shards;
    if (IsSync(i)) continue;
    ++at_once;
    generation.shards[i].OnAck(slot);
  }
  const uint64_t answers = summary.applied + summary.already_applied +
                           summary.staged + summary.dropped;
  if (answers != shards || summary.skipped != 0) {
    Violation(absl::StrCat("update ", slot, " was acknowledged by ", answers,
                           " of ", shards, " shards, and skipped by ",
                           summary.skipped));
  }
  uint64_t& applied = applied_[slot];
  applied += summary.applied;
  if (applied > at_once) {
    Violation(absl::StrCat("update ", slot, " was applied ", applied,
                           " times on ", at_once, " shards, by the answers"));
  }
}

void DigitJudge::OnFailure(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kDeadlineExceeded:
      ++tally_.late;
      return;
    case absl::StatusCode::kUnavailable:
      ++tally_.lost;
      return;
    case absl::StatusCode::kCancelled:
    case absl::StatusCode::kFailedPrecondition:  // fenced
    case absl::StatusCode::kAborted:             // the map is out of date
      ++tally_.cancelled;
      return;
    default:
      Violation(absl::StrCat("a call failed, which it never should: ",
                             Describe(status)));
  }
}

DigitJudge::View DigitJudge::OnReadBegin() const {
  View view;
  view.generation = current_;
  for (const ShardHistory& shard : generations_.at(current_).shards) {
    view.must.push_back(shard.MustSee());
  }
  return view;
}

void DigitJudge::CheckDigits(const Generation& generation, size_t shard,
                             const Decoded& decoded) {
  if (!decoded.readable) {
    Violation(absl::StrCat(NameOfShard(shard),
                           ": values that are no sum of updates"));
  }
  for (const size_t slot : decoded.repeated) {
    Violation(absl::StrCat(NameOfShard(shard), ": update ", slot,
                           " was applied more than once"));
  }
  decoded.slots.ForEach([&](size_t slot) {
    if (slot >= generation.first_slot) return;
    Violation(absl::StrCat(NameOfShard(shard), ": update ", slot,
                           " is of an older generation"));
  });
}

void DigitJudge::CheckRounds(const Generation& generation, size_t shard,
                             uint64_t round, const SlotSet& seen) {
  // Finds the last round seen; the set must hold whole rounds and nothing else.
  size_t last = 0;
  bool whole = seen.size() == 0;
  while (!whole && last < generation.up_to_round.size()) {
    const SlotSet& all = generation.up_to_round[last++];
    whole = !all.FirstNotIn(seen) && !seen.FirstNotIn(all);
  }
  if (!whole) {
    Violation(absl::StrCat(NameOfShard(shard), ": a part of a round"));
  } else if (last + 1 < round) {
    Violation(absl::StrCat(NameOfShard(shard), ": was read in round ", round,
                           ", but had only the rounds up to ", last));
  }
}

void DigitJudge::CheckClocks(const Generation& generation, size_t shard,
                             uint64_t round, const SlotSet& seen) {
  const auto slack = static_cast<uint64_t>(options_.bound) + 1;
  if (round <= slack) return;
  const size_t slots = static_cast<size_t>(round - slack) *
                       options_.per_round() *
                       static_cast<size_t>(options_.pushes);
  for (size_t i = 0; i < slots; ++i) {
    const size_t slot = generation.first_slot + i;
    if (seen.Contains(slot)) continue;
    Violation(absl::StrCat(
        NameOfShard(shard), ": was read at clock ", round, " without update ",
        slot, ", which is staler than the bound of ", options_.bound));
    return;
  }
}

void DigitJudge::OnRead(const View& view, DigitVariable variable,
                        uint64_t generation, uint64_t round,
                        std::span<const float> values) {
  const auto found = generations_.find(generation);
  if (found == generations_.end()) {
    return Violation(absl::StrCat("values of generation ", generation,
                                  ", which there is not"));
  }
  Generation& read = found->second;
  static const SlotSet kNothing;
  for (size_t s = 0; s < variables_.shards(); ++s) {
    const size_t shard =
        static_cast<size_t>(variable) * variables_.shards() + s;
    const Decoded decoded = variables_.Decode(variable, values, s);
    CheckDigits(read, shard, decoded);
    const SlotSet& must =
        view.generation == generation ? view.must[shard] : kNothing;
    const std::string wrong = read.shards[shard].OnRead(must, decoded.slots);
    if (!wrong.empty()) {
      Violation(absl::StrCat(NameOfShard(shard), ", generation ", generation,
                             " (from ", read.first_slot, "): ", wrong));
    }
    if (IsSync(shard)) CheckRounds(read, shard, round, decoded.slots);
    if (options_.bounded()) CheckClocks(read, shard, round, decoded.slots);
  }
}

void DigitJudge::OnEnd(uint64_t steps, const DigitValues& values) {
  Generation& last = generations_.at(current_);
  const size_t updates =
      static_cast<size_t>(steps) * static_cast<size_t>(options_.pushes);
  for (size_t i = 0; i < last.shards.size(); ++i) {
    const auto variable = static_cast<DigitVariable>(i / variables_.shards());
    const Decoded decoded = variables_.Decode(
        variable, ValuesOf(values, variable), i % variables_.shards());
    const size_t expected =
        !IsSync(i)
            ? updates
            : (last.up_to_round.empty() ? 0 : last.up_to_round.back().size());
    // An immediate update by a backup worker may be there or not.
    const bool known = IsSync(i) || options_.backup == 0;
    if (known && decoded.slots.size() != expected) {
      Violation(absl::StrCat("at the end ", NameOfShard(i), " has ",
                             decoded.slots.size(), " updates of ", expected));
    }
  }
  if (variables_.has_drift()) CheckDrift(last, values);
}

void DigitJudge::CheckDrift(const Generation& generation,
                            const DigitValues& values) {
  const std::vector<float> expected =
      ReplayDrift(variables_, generation.rounds);
  for (size_t i = 0; i < expected.size(); ++i) {
    if (std::memcmp(&expected[i], &values.drift[i], sizeof(float)) == 0) {
      continue;
    }
    return Violation(
        absl::StrCat("element ", i, " of drift is ", values.drift[i],
                     ", and without a fault would be ", expected[i]));
  }
}

std::span<const float> DigitJudge::ValuesOf(const DigitValues& values,
                                            DigitVariable variable) const {
  return variable == DigitVariable::kDense ? values.dense : values.rows;
}

}  // namespace capstan::simulate
