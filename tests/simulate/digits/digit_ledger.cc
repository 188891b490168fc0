#include "simulate/digits/digit_ledger.h"

#include <algorithm>

namespace capstan::simulate {

DigitLedger::DigitLedger(const DigitOptions& options, Plant plant,
                         Random random)
    : options_(options), plant_(plant), random_(random) {}

size_t DigitLedger::next_first_slot() const {
  return first_slot_ + steps_.size() * static_cast<size_t>(options_.pushes);
}

bool DigitLedger::HasRoomForGeneration() const {
  const auto all = static_cast<size_t>(options_.updates);
  return next_first_slot() + all / 4 <= all;
}

void DigitLedger::StartGeneration(const Fence& fence) {
  first_slot_ = next_first_slot();
  fence_ = fence;
  steps_.clear();
  committed_ = 0;
  decision_.reset();
  ended_ = false;
}

bool DigitLedger::CanOpen(MonotonicTime now) const {
  if (stopped_ || ended_ || now < next_open_) return false;
  const size_t per_round = options_.per_round();
  const size_t slots = per_round * static_cast<size_t>(options_.pushes);
  if (next_first_slot() + slots > static_cast<size_t>(options_.updates)) {
    return false;
  }
  const uint64_t round = steps_.size() / per_round + 1;
  // One round more than may be read yet, so that some steps have to wait.
  if (options_.sync()) return round <= committed_ + 2;
  if (options_.bounded()) {
    const auto ahead = static_cast<size_t>(options_.bound) + 2;
    if (round <= ahead) return true;
    const size_t end = (round - ahead) * per_round;
    return std::all_of(steps_.begin(),
                       steps_.begin() + static_cast<ptrdiff_t>(end),
                       [](const Step& step) { return step.over; });
  }
  return true;
}

bool DigitLedger::IsReady(size_t index) const {
  if (steps_[index].acked) return false;
  // A replica runs its clocks one at a time.
  const size_t per_round = options_.per_round();
  if (!options_.bounded() || index < per_round) return true;
  return steps_[index - per_round].over;
}

std::optional<size_t> DigitLedger::FindFree(MonotonicTime now) const {
  for (size_t i = 0; i < steps_.size(); ++i) {
    const Step& step = steps_[i];
    const bool late = step.taken && now - step.given >= options_.lease;
    if (IsReady(i) && (!step.taken || late)) return i;
  }
  return std::nullopt;
}

std::optional<size_t> DigitLedger::FindBusy() {
  std::vector<size_t> busy;
  for (size_t i = 0; i < steps_.size(); ++i) {
    if (steps_[i].taken && IsReady(i)) busy.push_back(i);
  }
  if (busy.empty()) return std::nullopt;
  return busy[random_.Below(busy.size())];
}

Assignment DigitLedger::Give(size_t index, MonotonicTime now) {
  Step& step = steps_[index];
  if (step.given != MonotonicTime::min()) ++repeats_;
  step.given = now;
  step.taken = true;
  const size_t per_round = options_.per_round();
  Assignment assignment;
  assignment.fence = fence_;
  assignment.step = index + 1;
  if (options_.sync() || options_.bounded()) {
    assignment.round = index / per_round + 1;
    assignment.replica = static_cast<uint32_t>(index % per_round);
  }
  assignment.first_slot =
      first_slot_ + index * static_cast<size_t>(options_.pushes);
  return assignment;
}

std::optional<Assignment> DigitLedger::Take(MonotonicTime now) {
  if (paused_) return std::nullopt;
  std::optional<size_t> index;
  if (random_.Chance(options_.again)) index = FindBusy();
  if (!index) index = FindFree(now);
  if (!index && CanOpen(now)) {
    next_open_ = now + options_.every;
    steps_.resize(steps_.size() + options_.per_round());
    index = FindFree(now);
  }
  if (!index) return std::nullopt;
  return Give(*index, now);
}

void DigitLedger::GiveBack(const Assignment& assignment) {
  if (assignment.fence.generation != fence_.generation) return;
  steps_[assignment.step - 1].taken = false;
}

void DigitLedger::Done(const Assignment& assignment) {
  if (assignment.fence.generation != fence_.generation) return;
  Step& step = steps_[assignment.step - 1];
  step.acked = true;
  if (!options_.sync()) step.over = true;
}

std::optional<RoundDecision> DigitLedger::NextCommit() {
  if (!options_.sync()) return std::nullopt;
  if (decision_) return decision_;
  const size_t per_round = options_.per_round();
  const size_t first = committed_ * per_round;
  if (first >= steps_.size()) return std::nullopt;
  RoundDecision decision;
  decision.round = committed_ + 1;
  for (size_t i = 0; i < per_round; ++i) {
    if (steps_[first + i].acked) {
      decision.replicas.push_back(static_cast<uint32_t>(i));
    }
  }
  const auto wanted = static_cast<size_t>(options_.replicas);
  if (decision.replicas.size() < wanted) return std::nullopt;
  while (decision.replicas.size() > wanted) {
    const auto late = random_.Below(decision.replicas.size());
    decision.replicas.erase(decision.replicas.begin() +
                            static_cast<ptrdiff_t>(late));
  }
  const auto pushes = static_cast<size_t>(options_.pushes);
  for (const uint32_t replica : decision.replicas) {
    for (size_t p = 0; p < pushes; ++p) {
      decision.slots.push_back(first_slot_ + (first + replica) * pushes + p);
    }
  }
  decision_ = decision;
  return decision_;
}

void DigitLedger::Committed(uint64_t round) {
  if (round != committed_ + 1) return;
  const size_t per_round = options_.per_round();
  for (size_t i = 0; i < per_round; ++i) {
    Step& step = steps_[committed_ * per_round + i];
    step.acked = true;  // or dropped, which is equally final
    step.over = true;
  }
  committed_ = round;
  decision_.reset();
}

uint64_t DigitLedger::Watermark() const {
  uint64_t watermark = 0;
  for (size_t i = 0; i < steps_.size(); ++i) {
    const Step& step = steps_[i];
    if (plant_ == Plant::kEarlyWatermark) {
      // The newest step that is done, even if earlier ones are still open.
      if (step.acked) watermark = i + 1;
      continue;
    }
    if (!step.over) break;
    watermark = i + 1;
  }
  return watermark;
}

bool DigitLedger::AllOver() const {
  return std::all_of(steps_.begin(), steps_.end(),
                     [](const Step& step) { return step.over; });
}

}  // namespace capstan::simulate
