#include "coordinator/closure/round_tracker.h"

#include <algorithm>

namespace capstan {

bool RoundTracker::SetRules(const RoundRules& rules) {
  if (rules == rules_) return true;
  if (!rounds_.empty() || first_ > 1) return false;
  rules_ = rules;
  return true;
}

void RoundTracker::Resume(const RoundRules& rules, uint64_t next,
                          uint64_t settled) {
  rules_ = rules;
  rounds_.clear();
  first_ = std::max<uint64_t>(next, 1);
  committed_ = std::max(settled, first_ - 1);
  ticked_ = first_ - 1;
}

RoundTracker::Round* RoundTracker::Find(uint64_t round) {
  if (round < first_ || round - first_ >= rounds_.size()) return nullptr;
  return &rounds_[round - first_];
}

RoundPlace RoundTracker::Assign(uint64_t step, uint64_t order) {
  if (rules_.replicas == 0) return {};
  if (rounds_.empty() || rounds_.back().closed) {
    Round& begun = rounds_.emplace_back();
    begun.first_step = step;
    begun.first_order = order;
  }
  Round& round = rounds_.back();
  // Steps of a block may have been numbered before steps that were put earlier.
  round.first_step = std::min(round.first_step, step);
  RoundPlace place;
  place.round = first_ + rounds_.size() - 1;
  place.replica = round.assigned++;
  round.closed = round.assigned == rules_.places();
  return place;
}

uint64_t RoundTracker::next_round() const {
  if (rules_.replicas == 0) return 0;
  return first_ + rounds_.size();
}

bool RoundTracker::MayRun(uint64_t round) const {
  if (round == 0) return true;
  if (rules_.sync && round > committed_ + 1) return false;
  return !rules_.bounded || round <= ticked_ + rules_.bound + 1;
}

void RoundTracker::Finish(const RoundPlace& place) {
  Round* round = Find(place.round);
  if (round == nullptr) return;
  round->finished.push_back(place.replica);
  if (rules_.bounded && place.replica < rules_.replicas) {
    round->to_tick.push_back(place.replica);
  }
}

void RoundTracker::Miss(const RoundPlace& place) {
  Round* round = Find(place.round);
  if (round == nullptr) return;
  ++round->missed;
  if (rules_.bounded && place.replica < rules_.replicas) {
    round->to_tick.push_back(place.replica);
  }
}

void RoundTracker::TickAbsent(Round& round) {
  if (!rules_.bounded) return;
  for (uint32_t i = round.assigned; i < rules_.replicas; ++i) {
    round.to_tick.push_back(i);
  }
}

void RoundTracker::Close() {
  if (rounds_.empty() || rounds_.back().closed) return;
  rounds_.back().closed = true;
  TickAbsent(rounds_.back());
}

void RoundTracker::CloseUpTo(uint64_t last) {
  if (!rounds_.empty() && first_ + rounds_.size() - 1 <= last) Close();
}

void RoundTracker::Abandon() {
  Close();
  for (Round& round : rounds_) {
    // A round that was decided may be on some servers, and so must be on all.
    if (!round.decision) round.abandoned = true;
  }
}

bool RoundTracker::AllEnded(const Round& round) const {
  return round.closed && round.finished.size() + round.missed == round.assigned;
}

std::optional<RoundDecision> RoundTracker::NextCommit() {
  Round* round = rules_.sync ? Find(committed_ + 1) : nullptr;
  if (round == nullptr) return std::nullopt;
  if (round->decision) return round->decision;
  RoundDecision decision;
  decision.round = committed_ + 1;
  if (!round->abandoned) {
    const bool enough = round->finished.size() >= rules_.replicas;
    if (!enough && !AllEnded(*round)) return std::nullopt;
    decision.replicas = round->finished;
    if (enough) decision.replicas.resize(rules_.replicas);
    std::sort(decision.replicas.begin(), decision.replicas.end());
  }
  round->decision = std::move(decision);
  return round->decision;
}

void RoundTracker::Committed(uint64_t number) {
  if (number != committed_ + 1) return;
  ++committed_;
  Forget();
}

std::optional<RoundDecision> RoundTracker::NextTick() {
  for (size_t i = 0; i < rounds_.size(); ++i) {
    if (rounds_[i].to_tick.empty()) continue;
    return RoundDecision{.round = first_ + i, .replicas = rounds_[i].to_tick};
  }
  return std::nullopt;
}

void RoundTracker::Ticked(const RoundDecision& tick) {
  Round* round = Find(tick.round);
  if (round == nullptr) return;
  // More may have been added since.
  std::erase_if(round->to_tick, [&](uint32_t replica) {
    return std::find(tick.replicas.begin(), tick.replicas.end(), replica) !=
           tick.replicas.end();
  });
  round->ticked += static_cast<uint32_t>(tick.replicas.size());
  for (Round* next = Find(ticked_ + 1);
       next != nullptr && next->ticked >= rules_.replicas;
       next = Find(ticked_ + 1)) {
    ++ticked_;
  }
  Forget();
}

void RoundTracker::Forget() {
  // A round that was committed before all its places were taken still gets the
  // rest: steps count rounds by their places, in every life of a coordinator.
  while (!rounds_.empty() && rounds_.front().closed &&
         (!rules_.sync || first_ <= committed_) &&
         (!rules_.bounded || first_ <= ticked_)) {
    rounds_.pop_front();
    ++first_;
  }
}

uint64_t RoundTracker::FirstOpenStep() const {
  if (!rules_.sync) return UINT64_MAX;
  uint64_t first = UINT64_MAX;
  for (uint64_t i = std::max(first_, committed_ + 1) - first_;
       i < rounds_.size(); ++i) {
    first = std::min(first, rounds_[i].first_step);
  }
  return first;
}

uint64_t RoundTracker::FirstOpenOrder() const {
  if (!rules_.sync) return UINT64_MAX;
  const uint64_t open = std::max(first_, committed_ + 1) - first_;
  return open < rounds_.size() ? rounds_[open].first_order : UINT64_MAX;
}

}  // namespace capstan
