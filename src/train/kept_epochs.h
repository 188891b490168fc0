// Which lines of a log stay when a Fit goes on where it was cut off, or goes
// back to a checkpoint.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace capstan {

// Of the lines of a log, of which those from `before` on are of one Fit: which
// stay when that is about to log `epoch`. `first` is the first epoch that it
// has logged; without one it has logged none, and what is there is of others.
// `epoch_of(line)` is nullopt for what is no line of a log. Pure.
template <typename Line, typename EpochOf>
std::vector<Line> KeptEpochs(const std::vector<Line>& lines,
                             std::int64_t before, std::optional<int> first,
                             int epoch, const EpochOf& epoch_of) {
  std::vector<Line> kept;
  std::optional<int> last;
  for (const Line& line : lines) {
    if (static_cast<std::int64_t>(kept.size()) < before) {
      kept.push_back(line);
      continue;
    }
    const std::optional<int> at = epoch_of(line);
    if (!first || !at || *at < *first || *at >= epoch) continue;
    // Each once.
    if (last && *at <= *last) continue;
    last = at;
    kept.push_back(line);
  }
  return kept;
}

}  // namespace capstan
