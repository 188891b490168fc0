// Functions that wait at a worker behind one that does not end.
#include <array>
#include <atomic>
#include <thread>
#include <vector>

#include "coordinator/helpers.h"

namespace capstan {
namespace {

using testing::AddTo;
using testing::Door;
using testing::Job;

// Long enough for a machine that is busy; it is not waited for when all is
// well.
constexpr std::chrono::seconds kPatience(60);

TEST(ReassignTest, WhatWaitsBehindAStuckFunctionRunsElsewhere) {
  Definitions definitions;
  std::array<Door, 2> doors;
  const auto hold = definitions.AddFunction("hold", [&](WorkerContext& worker) {
    doors.at(static_cast<size_t>(worker.worker_index())).Wait(worker);
  });
  std::atomic<int> runs = 0;
  const auto add = definitions.AddFunction("add", [&](WorkerContext& worker) {
    ++runs;
    AddTo(worker, "n");
    return worker.worker_index();
  });
  Job job(definitions, 2, 1);
  job.CreateCounter("n");
  for (int i = 0; i < 2; ++i) job.coordinator.Schedule(hold);
  std::vector<RemoteValue<int>> values;
  for (int i = 0; i < 4; ++i) values.push_back(job.coordinator.Schedule(add));
  // Each worker has one that runs and two at hand.
  while (job.coordinator.Status().in_flight < 6) std::this_thread::yield();
  doors[1].Open();
  for (const RemoteValue<int>& value : values) {
    EXPECT_EQ(value.Fetch(kPatience), 1);
  }
  EXPECT_EQ(job.coordinator.Status().in_flight, 1u) << "the one that is stuck";
  doors[0].Open();
  job.coordinator.Join();
  EXPECT_EQ(job.Count("n"), 4);
  EXPECT_EQ(runs, 4) << "none was begun twice";
}

}  // namespace
}  // namespace capstan
