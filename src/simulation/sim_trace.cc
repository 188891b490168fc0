#include "simulation/sim_trace.h"

#include <fmt/core.h>

namespace capstan {
namespace {

// Microseconds with three decimals: exact to the nanosecond, and aligned.
std::string Stamp(MonotonicTime time) {
  const int64_t nanoseconds = time.time_since_epoch().count();
  return fmt::format("{:>13}.{:03}", nanoseconds / 1000, nanoseconds % 1000);
}

}  // namespace

void SimTrace::Add(MonotonicTime time, std::string_view node,
                   std::string_view what, uint64_t first, uint64_t second) {
  ++events_;
  hasher_.Add(static_cast<uint64_t>(time.time_since_epoch().count()));
  hasher_.Add(node);
  hasher_.Add(what);
  hasher_.Add(first);
  hasher_.Add(second);
  if (text_ == nullptr) return;
  *text_ << fmt::format("{} {:<12} {:<16} {} {:x}\n", Stamp(time), node, what,
                        first, second);
}

void SimTrace::AddText(MonotonicTime time, std::string_view node,
                       std::string_view text) {
  if (text_ == nullptr) return;
  *text_ << fmt::format("{} {:<12} # {}\n", Stamp(time), node, text);
}

}  // namespace capstan
