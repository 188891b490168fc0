// One scheduled function: its arguments and its outcome.
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

// Payload of the status of a closure that failed because its workers died one
// after another: their names, as text.
inline constexpr char kPoisonedUrl[] = "capstan/poisoned";

// Made by the caller. From ClosureQueue::Put on, everything but `function`,
// `arguments`, `resources` and `step` is guarded by the queue's lock.
struct Closure {
  enum class State : uint8_t { kNew, kQueued, kInFlight, kDone };

  std::shared_ptr<const FunctionInfo> function;
  EncodedValue arguments;
  // Kept until the closure is done, so that workers keep the resources.
  std::vector<std::shared_ptr<const uint64_t>> resources;
  // Ranges of data that count as used if the closure succeeds.
  std::vector<DataTicket> tickets;
  uint64_t step = 0;  // assigned by the queue, unless it belongs to a StepBlock
  // The program's name for the step, if it gave one: the queue assigns the same
  // step whenever a closure with this key is put.
  std::optional<uint64_t> key;

  uint64_t order = 0;  // its ordinal among the closures that were put
  State state = State::kNew;
  bool cancel_requested = false;
  RoundPlace place;
  // Workers that were lost while they had this closure.
  std::vector<std::string> lost_with;
  uint32_t server_failures = 0;

  // Expired when nobody can ask for the value any more; it is then not sent.
  std::weak_ptr<const void> wanted;

  mutable size_t awaited = 0;  // threads that wait for kDone

  // Of a closure that is kDone.
  absl::Status status;
  EncodedValue value;
  // Each is called once when the closure is done.
  std::vector<std::function<void()>> then;

  // A worker was lost with this closure, so from now on it runs alone: if
  // another worker is lost, the cause is known.
  bool suspect() const { return !lost_with.empty(); }
};

}  // namespace capstan
