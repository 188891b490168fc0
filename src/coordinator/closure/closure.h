// One scheduled function: what it is called with, and what came of it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "capstan/dataset.h"
#include "capstan/function.h"
#include "coordinator/closure/round_tracker.h"

namespace capstan {

// How a closure failed that took down one worker after the other: the workers,
// as text that a status carries.
inline constexpr char kPoisonedUrl[] = "capstan/poisoned";

// Made by the caller; from ClosureQueue::Put on, all but `function`,
// `arguments`, `resources` and `step` is guarded by the queue's lock.
struct Closure {
  enum class State : uint8_t { kNew, kQueued, kInFlight, kDone };

  std::shared_ptr<const FunctionInfo> function;
  EncodedValue arguments;
  // Kept until the end, so that workers keep what they stand for.
  std::vector<std::shared_ptr<const uint64_t>> resources;
  // Ranges of data that count as used when it succeeds.
  std::vector<DataTicket> tickets;
  uint64_t step = 0;  // given by the queue, unless it is one of a StepBlock
  // What the program calls the step, if it does: the queue gives it the same
  // number whenever it is put.
  std::optional<uint64_t> key;

  uint64_t order = 0;  // the how manyth that was put
  State state = State::kNew;
  bool cancel_requested = false;
  RoundPlace place;
  // Workers that were lost while they had it.
  std::vector<std::string> lost_with;
  uint32_t server_failures = 0;

  // Gone when nobody can ask for the value any more; it is not sent then.
  std::weak_ptr<const void> wanted;

  mutable size_t awaited = 0;  // threads that wait for kDone

  // Of kDone.
  absl::Status status;
  EncodedValue value;
  // To be called then, once each.
  std::vector<std::function<void()>> then;

  // A worker was lost with it, so it runs alone from now on: if that happens
  // again, it is known by what.
  bool suspect() const { return !lost_with.empty(); }
};

}  // namespace capstan
