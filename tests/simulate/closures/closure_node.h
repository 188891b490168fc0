// The coordinator's process in the closures workload: the real dispatcher, and
// what every program does with it.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <vector>

#include "base/async/event.h"
#include "base/async/task.h"
#include "base/random.h"
#include "client/parameter_client.h"
#include "coordinator/dispatcher.h"
#include "membership/roster.h"
#include "simulate/closures/closure_context.h"

namespace capstan::simulate {

inline constexpr Duration kTick = std::chrono::milliseconds(20);
// How long nothing may change after the end.
inline constexpr Duration kRest = std::chrono::seconds(2);

// One life of the coordinator. Lives on the node's executor; whatever is passed
// by reference must outlive it.
class ClosureNode {
 public:
  // Uses the term of the node's current life. Hears of workers from now on; in
  // a later life, also of those that were there before.
  ClosureNode(ClosureContext& context, SimNode& node);
  ~ClosureNode();
  ClosureNode(const ClosureNode&) = delete;
  ClosureNode& operator=(const ClosureNode&) = delete;

  Dispatcher& dispatcher() { return *dispatcher_; }
  ClosureQueue& queue() { return dispatcher_->queue(); }
  JobVariables& variables() { return dispatcher_->variables(); }
  ParameterClient& client() { return *client_; }
  Random& random() { return random_; }
  MonotonicTime Now() { return node_.clock().Now(); }

  // Sleep: for up to `most`. Rest: for exactly `duration`.
  Task<> Sleep(Duration most);
  Task<> Rest(Duration duration);
  // Returns when something has changed that a Try of the queue may be waiting
  // for.
  Task<> Change();

  // Creates the variables, or finds them as they are; retries until it
  // succeeds.
  Task<> CreateVariables();
  // Reads both variables of a table and has the judge check them; with `final`,
  // as the final values.
  Task<> ReadTable(size_t table, bool final);
  // Returns once every server's watermark is at least `last`.
  Task<> AwaitWatermark(uint64_t last);

  // It was put: tells the judge so, and later of its end.
  void OnPut(size_t number, const ClosureQueue::ClosurePtr& closure);

 private:
  DispatcherOptions Options();
  Dispatcher::NewChannel Channels();
  // Starts calling the servers.
  void StartRoster();

  ClosureContext& context_;
  SimNode& node_;
  Random random_;
  const std::unique_ptr<Timer> timer_;
  Event changed_;
  const std::unique_ptr<ParameterClient> client_;
  std::shared_ptr<Dispatcher> dispatcher_;
  std::unique_ptr<Roster> roster_;  // may be null
};

}  // namespace capstan::simulate
