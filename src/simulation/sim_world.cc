#include "simulation/sim_world.h"

#include <cassert>
#include <utility>

#include "simulation/sim_log.h"

namespace capstan {
namespace {

// Far more than any test's node does between two events.
constexpr uint64_t kMaxStepsPerInstant = 300'000;

}  // namespace

SimNode::SimNode(std::string name, uint32_t index, Random random,
                 SimClock& clock, SimFabric& fabric, Logger logger)
    : name_(std::move(name)),
      index_(index),
      random_(random),
      clock_(clock),
      network_(fabric, index),
      logger_(std::move(logger)) {}

Random SimNode::NewRandom(std::string_view name) const {
  return random_.Fork(incarnation_).Fork(name);
}

SimWorld::SimWorld(uint64_t seed, SimWorldOptions options)
    : trace_(options.trace_text),
      random_(seed),
      choice_(random_.Fork("choice")),
      fabric_(clock_, trace_, random_.Fork("network"), options.network) {}

SimWorld::~SimWorld() {
  while (!nodes_.empty()) {
    Crash(*nodes_.back(), SimCrash::kProcess);
    nodes_.pop_back();
  }
}

SimNode& SimWorld::AddNode(std::string name) {
  const uint32_t index = fabric_.AddNode(name);
  const Random random = random_.Fork("node").Fork(index);
  Logger logger = NewSimLogger(trace_, clock_, name);
  nodes_.push_back(std::unique_ptr<SimNode>(new SimNode(
      std::move(name), index, random, clock_, fabric_, std::move(logger))));
  return *nodes_.back();
}

void SimWorld::Start(SimNode& node, SimMain main) {
  assert(!node.running());
  node.main_ = std::move(main);
  Restart(node);
}

void SimWorld::Crash(SimNode& node, SimCrash how) {
  if (!node.running()) return;
  fabric_.Crash(node.index_, how);
  node.hung_ = false;
  node.work_.reset();
  node.context_.reset();
  if (how == SimCrash::kMachine) {
    Random random = node.NewRandom("disk");
    node.files_.Crash(random);
  }
  FindCandidates();
}

void SimWorld::Restart(SimNode& node) {
  if (node.running()) return;
  fabric_.Restart(node.index_);
  ++node.incarnation_;
  node.context_ = std::make_unique<asio::io_context>(1);
  node.work_ = std::make_unique<SimNode::WorkGuard>(
      asio::make_work_guard(*node.context_));
  if (node.main_) Spawn(node.executor(), node.main_(node));
  FindCandidates();
}

void SimWorld::Hang(SimNode& node) {
  trace_.Add(clock_.Now(), node.name_, "hang");
  node.hung_ = true;
  FindCandidates();
}

void SimWorld::Resume(SimNode& node) {
  trace_.Add(clock_.Now(), node.name_, "resume");
  node.hung_ = false;
  node.resumed_ = clock_.Now();
  FindCandidates();
}

void SimWorld::Partition(SimNode& from, SimNode& to) {
  fabric_.Block(from.index_, to.index_);
}

void SimWorld::Heal(SimNode& from, SimNode& to) {
  fabric_.Unblock(from.index_, to.index_);
}

void SimWorld::SetDelay(SimNode& from, SimNode& to, Duration extra) {
  fabric_.SetDelay(from.index_, to.index_, extra);
}

size_t SimWorld::BreakConnections(SimNode& a, SimNode& b) {
  return fabric_.Break(a.index_, b.index_);
}

SimWorld::Result SimWorld::RunUntil(const std::function<bool()>& done,
                                    MonotonicTime deadline) {
  // Code outside the nodes may have given them work.
  FindCandidates();
  uint64_t instant_start = steps_;
  while (!done()) {
    if (RunReadyNode()) {
      if (steps_ - instant_start > kMaxStepsPerInstant) {
        return Result::kLivelock;
      }
      continue;
    }
    const MonotonicTime next = clock_.NextTime();
    if (next > deadline) {
      if (deadline == kNever) return Result::kIdle;
      clock_.AdvanceTo(deadline);
      return Result::kDeadline;
    }
    if (next == kNever) return Result::kIdle;
    if (next > clock_.Now()) instant_start = steps_;
    clock_.RunNext();
    FindCandidates();
  }
  return Result::kDone;
}

SimWorld::Result SimWorld::RunFor(Duration duration) {
  return RunUntil([] { return false; }, clock_.Now() + duration);
}

bool SimWorld::RunReadyNode() {
  while (!candidates_.empty()) {
    const size_t chosen = choice_.Below(candidates_.size());
    SimNode& node = *candidates_[chosen];
    if (node.RunOne()) {
      ++steps_;
      trace_.AddNumber(node.index_);
      return true;
    }
    candidates_.erase(candidates_.begin() + static_cast<ptrdiff_t>(chosen));
  }
  return false;
}

void SimWorld::FindCandidates() {
  candidates_.clear();
  for (const auto& node : nodes_) {
    if (node->running() && !node->hung()) candidates_.push_back(node.get());
  }
}

}  // namespace capstan
