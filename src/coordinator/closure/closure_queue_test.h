// Closures for the tests of the queue. Test-only.
#pragma once

#include <cstdint>
#include <memory>

#include "coordinator/closure/closure_queue.h"

namespace capstan::testing {

using ClosurePtr = ClosureQueue::ClosurePtr;

inline constexpr Duration kEver = Duration::max();

inline ClosurePtr NewClosure(bool reads_only = false, uint64_t step = 0) {
  static const auto kUpdates = std::make_shared<const FunctionInfo>(
      FunctionInfo{.name = "f", .signature = "void()"});
  static const auto kReads = std::make_shared<const FunctionInfo>(FunctionInfo{
      .name = "r", .signature = "void()", .options = {.reads_only = true}});
  auto closure = std::make_shared<Closure>();
  closure->function = reads_only ? kReads : kUpdates;
  closure->step = step;
  return closure;
}

}  // namespace capstan::testing
