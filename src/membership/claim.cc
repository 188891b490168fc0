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
  // If a task never obeyed this coordinator and no longer hears the one it
  // obeys, that one is from before this claim.
  const bool earlier = !stance.obeyed && !report.hears;
  if (in_charge_ && coordinator_term_ < other && !earlier)
    return Answer::kDeposes;
  // Servers compare terms only, ignoring the holder, so an equal term does not
  // suffice.
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
