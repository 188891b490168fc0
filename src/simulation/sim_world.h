// A cluster in one thread and in virtual time, generated from one seed.
//
//   SimWorld world(seed);
//   SimNode& server = world.AddNode("server");
//   SimNode& client = world.AddNode("client");
//   world.Start(server, [&](SimNode& node) { return Serve(node); });
//   world.Start(client, [&](SimNode& node) { return Ask(node, &answered); });
//   world.clock().ScheduleAfter(seconds(1), [&] { world.Crash(server, how); });
//   world.RunUntil([&] { return answered; }, world.clock().Now() + minutes(1));
//
// Each node is a separate executor. Driven by the seed, the world picks one of
// the nodes that have something to do and runs one handler of it; when no node
// has any, time moves to the next event. The same seed gives the same trace
// hash in every build.
//
// Calls that change nodes must come from outside the nodes: from the main
// program or an event of the clock, never from a node's own coroutine.
#pragma once

#include <asio/executor_work_guard.hpp>
#include <asio/io_context.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "base/async/task.h"
#include "base/log.h"
#include "base/random.h"
#include "simulation/sim_clock.h"
#include "simulation/sim_fabric.h"
#include "simulation/sim_file_system.h"
#include "simulation/sim_network.h"
#include "simulation/sim_node_clock.h"
#include "simulation/sim_trace.h"

namespace capstan {

class SimNode;

// What a node runs. Called at every start; the node outlives the task.
using SimMain = std::function<Task<>(SimNode&)>;

struct SimWorldOptions {
  SimNetworkOptions network;
  // Where the trace is written as text; null for the hash alone.
  std::ostream* trace_text = nullptr;
};

// A simulated machine with one process. The object persists while the process
// comes and goes.
class SimNode {
 public:
  const std::string& name() const { return name_; }
  uint32_t index() const { return index_; }
  bool running() const { return context_ != nullptr; }
  bool hung() const { return hung_; }
  // When it last resumed after a hang; the distant past if never.
  MonotonicTime resumed() const { return resumed_; }
  // How often it was started.
  uint64_t incarnation() const { return incarnation_; }

  // The process's executor: a new one after every start.
  Executor executor() { return context_->get_executor(); }
  SimNodeClock& clock() { return clock_; }
  Network& network() { return network_; }
  // The machine's disk; outlives the process.
  SimFileSystem& files() { return files_; }
  Logger& logger() { return logger_; }
  // Random numbers for this node in this incarnation, different for each name.
  Random NewRandom(std::string_view name) const;

 private:
  friend class SimWorld;
  using WorkGuard = asio::executor_work_guard<asio::io_context::executor_type>;

  SimNode(std::string name, uint32_t index, Random random, SimClock& clock,
          SimFabric& fabric, Logger logger);

  // Runs one handler, if one is ready.
  bool RunOne() { return context_->poll_one() > 0; }

  const std::string name_;
  const uint32_t index_;
  const Random random_;
  SimNodeClock clock_;
  SimNetwork network_;
  SimFileSystem files_;
  Logger logger_;
  SimMain main_;
  uint64_t incarnation_ = 0;
  bool hung_ = false;
  MonotonicTime resumed_ = MonotonicTime::min();
  // The process: its coroutines and everything they own die with it.
  std::unique_ptr<asio::io_context> context_;
  std::unique_ptr<WorkGuard> work_;
};

// Used from one thread; several worlds may run in several threads.
class SimWorld {
 public:
  explicit SimWorld(uint64_t seed, SimWorldOptions options = {});
  // Destroys the nodes, last one first.
  ~SimWorld();
  SimWorld(const SimWorld&) = delete;
  SimWorld& operator=(const SimWorld&) = delete;

  SimClock& clock() { return clock_; }
  SimTrace& trace() { return trace_; }
  // Random numbers for a part of the test, different for each name.
  Random NewRandom(std::string_view name) const { return random_.Fork(name); }

  // Adds a machine that is up but runs nothing. Names must be unique.
  SimNode& AddNode(std::string name);
  const std::vector<std::unique_ptr<SimNode>>& nodes() const { return nodes_; }

  // Starts the process of a node that has none, with `main` if given.
  void Start(SimNode& node, SimMain main = {});
  // Kills the process: its coroutines are destroyed where they are. Peers see
  // their connections reset; or, if the machine dies, nothing at all, and its
  // disk loses what was not synced. Does nothing if the node is down.
  void Crash(SimNode& node, SimCrash how);
  // Starts the process again with the same main.
  void Restart(SimNode& node);
  // As SIGSTOP and SIGCONT: the process does nothing and its timeouts fire
  // late; its machine still receives.
  void Hang(SimNode& node);
  void Resume(SimNode& node);

  // Blocks packets from one node to another until healed.
  void Partition(SimNode& from, SimNode& to);
  void Heal(SimNode& from, SimNode& to);
  void SetDelay(SimNode& from, SimNode& to, Duration extra);
  // Breaks the connections between two nodes; returns how many there were.
  size_t BreakConnections(SimNode& a, SimNode& b);

  enum class Result {
    kDone,      // `done` returned true
    kDeadline,  // virtual time has reached the deadline
    kIdle,      // nothing more can happen
    kLivelock,  // more steps within one instant than any program needs
  };
  // Runs the world until `done`, which is called after every step.
  Result RunUntil(const std::function<bool()>& done, MonotonicTime deadline);
  // Runs the world for a time.
  Result RunFor(Duration duration);

  // How many handlers the nodes have run.
  uint64_t steps() const { return steps_; }

 private:
  // Runs one handler of some node; false if no node has any.
  bool RunReadyNode();
  void FindCandidates();

  SimTrace trace_;
  SimClock clock_;
  const Random random_;
  Random choice_;
  SimFabric fabric_;
  std::vector<std::unique_ptr<SimNode>> nodes_;
  // Nodes that may have something to do; refilled after every event.
  std::vector<SimNode*> candidates_;
  uint64_t steps_ = 0;
};

}  // namespace capstan
