#include "bench_store/timing.h"

namespace capstan {

absl::StatusOr<SideBySide> TimeSideBySide(int rounds, const Timed& ours,
                                          const Timed& bare) {
  std::vector<double> our_times;
  std::vector<double> bare_times;
  std::vector<double> ratios;
  for (int round = -1; round < rounds; ++round) {
    const bool ours_first = round % 2 == 0;
    const absl::StatusOr<double> first = ours_first ? ours() : bare();
    if (!first.ok()) return first.status();
    const absl::StatusOr<double> second = ours_first ? bare() : ours();
    if (!second.ok()) return second.status();
    if (round < 0) continue;
    our_times.push_back(ours_first ? *first : *second);
    bare_times.push_back(ours_first ? *second : *first);
    ratios.push_back(bare_times.back() / our_times.back());
  }
  SideBySide result;
  result.ours = Median(our_times);
  result.bare = Median(bare_times);
  result.ratio = Median(ratios);
  return result;
}

}  // namespace capstan
