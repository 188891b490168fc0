#include "transport/complaints.h"

namespace capstan {
namespace {

// The key for all causes beyond kCauses. No status has an empty text.
constexpr char kOthers[] = "";

}  // namespace

std::optional<uint64_t> Complaints::Add(const std::string& cause,
                                        std::chrono::nanoseconds now) {
  auto found = causes_.find(cause);
  if (found == causes_.end()) {
    std::erase_if(causes_, [now](const auto& entry) {
      return now - entry.second.last >= kInterval;
    });
    const bool full = causes_.size() >= kCauses;
    found = causes_.try_emplace(full ? kOthers : cause).first;
  }
  found->second.last = now;
  return found->second.limit.Allow(now);
}

}  // namespace capstan
