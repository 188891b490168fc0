#include <algorithm>
#include <optional>

#include "checkpoint/directory.h"

namespace capstan {
namespace {

constexpr double kMsPerHour = 3600.0 * 1000.0;

}  // namespace

std::vector<std::string> ToRemove(const std::vector<Checkpoint>& checkpoints,
                                  const Retention& retention,
                                  const std::vector<std::string>& kept) {
  if (retention.max_to_keep <= 0) return {};
  std::vector<const Checkpoint*> order;
  for (const Checkpoint& checkpoint : checkpoints) order.push_back(&checkpoint);
  std::sort(order.begin(), order.end(),
            [](const Checkpoint* a, const Checkpoint* b) {
              return a->number < b->number;
            });
  const size_t newest =
      std::min(order.size(), static_cast<size_t>(retention.max_to_keep));
  std::vector<std::string> removed;
  // From the oldest, so that a later call makes the same choices.
  std::optional<double> last_ms;
  for (size_t i = 0; i < order.size() - newest; ++i) {
    const Checkpoint& checkpoint = *order[i];
    const auto ms = static_cast<double>(checkpoint.manifest.created_unix_ms);
    if (retention.keep_every_hours > 0 &&
        (!last_ms ||
         ms >= *last_ms + retention.keep_every_hours * kMsPerHour)) {
      last_ms = ms;
      continue;
    }
    if (std::find(kept.begin(), kept.end(), checkpoint.name) == kept.end()) {
      removed.push_back(checkpoint.name);
    }
  }
  return removed;
}

}  // namespace capstan
