#include "simulate/logs/log_judge.h"

#include <string>

#include "absl/strings/str_cat.h"

namespace capstan::simulate {

uint64_t LogJudge::OnSend() {
  ++tally_.requests;
  acknowledged_.push_back(false);
  return acknowledged_.size();
}

void LogJudge::OnAcknowledged(uint64_t value) {
  ++tally_.replies;
  acknowledged_[value - 1] = true;
  world_.trace().Add(world_.clock().Now(), "judge", "acknowledged", value);
}

void LogJudge::OnRecovered(const std::vector<uint64_t>& found) {
  ++recoveries_;
  world_.trace().Add(world_.clock().Now(), "judge", "recovered", found.size());
  std::vector<int> times(acknowledged_.size(), 0);
  for (const uint64_t value : found) {
    if (value == 0 || value > times.size()) {
      Violation(value, "was found, but never sent");
    } else if (++times[value - 1] == 2) {
      Violation(value, "was found twice");
    }
  }
  for (size_t i = 0; i < times.size(); ++i) {
    if (acknowledged_[i] && times[i] == 0) {
      Violation(i + 1, "was acknowledged, but is lost");
    }
  }
}

void LogJudge::Violation(uint64_t value, std::string_view what) {
  violations_.Add(world_.clock().Now(),
                  absl::StrCat("record ", value, " ", std::string(what)));
}

}  // namespace capstan::simulate
