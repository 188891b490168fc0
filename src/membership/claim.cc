#include "membership/claim.h"

#include <algorithm>

namespace capstan {

Claim::Answer Claim::OnReport(Stance& stance, const TaskReport& report) {
  stance.asked = true;
  stance.rival.reset();
  const CoordinatorTerm& other = report.coordinator_term;
  if (other == coordinator_term_) {
    in_charge_ = stance.obeyed = true;
    return Answer::kObeys;
  }
  if (report.hears) {
    stance.rival = {other, report.coordinator, report.heard_ms};
  }
  highest_ = std::max(highest_, other.term);
  // What a task that has never obeyed this coordinator obeys, and does not
  // hear, is from before.
  const bool earlier = !stance.obeyed && !report.hears;
  if (in_charge_ && coordinator_term_ < other && !earlier)
    return Answer::kDeposes;
  // Whoever fences does so by the term alone: an equal one would not do.
  if (other.term >= coordinator_term_.term && !report.hears) outbid_ = true;
  return Answer::kDoesNot;
}

void Claim::OnError(Stance& stance) {
  stance.asked = true;
  stance.rival.reset();
}

void Claim::TakeTerm() {
  coordinator_term_.term = highest_ + 1;
  outbid_ = false;
}

}  // namespace capstan
