// What runs in a scenario, and the judge of whether it ran correctly.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "simulate/scenario.h"
#include "simulation/sim_world.h"

namespace capstan::simulate {

// A bug planted to test whether the judge notices it. It sits between the code
// under test and the simulation, never inside that code.
enum class Plant {
  kNone,
  kWrongReply,       // two answers are swapped
  kCorruptBytes,     // a byte of an answer is changed
  kRepeatedRequest,  // the transport delivers a request twice
  kLateEnd,          // a call ends some time after its deadline
  kLateWrite,        // a call's memory is written to after it has ended
  kDeafServer,       // a server stops accepting connections after a few
  kLostSync,         // an append is acknowledged before it is synced
  kLostName,         // a new file's directory is not synced
  // Of parameter servers and their coordinator:
  kNoDedup,         // an update is applied every time it arrives
  kDedupByWorker,   // an update is identified by its sender, not by its step
  kAckInFlight,     // a duplicate is acknowledged while the first may fail
  kEarlyWatermark,  // advanced past steps that not all shards have had
  kNoFence,         // requests of an older generation or term are served
  kStalePull,       // a pull does not wait for its round or clock
  kPartialCommit,   // a server leaves a replica out of a round
  // Of the coordinator and its workers:
  kRetryNewStep,  // a closure that is resent becomes another step
  kLostClosure,   // a worker reports it done without having run it
  kStaleSession,  // a worker serves requests of a session that has ended
  kResultSwap,    // a worker answers with the result of another closure
  // Of a restarted coordinator:
  kFarRecord,   // a record claims to account for more steps than it does
  kLateBlock,   // steps begin before the servers know their numbers
  kNewNumbers,  // repeated steps get other numbers
  kLostRecord,  // a watermark arrives without its record
  kUnsettled,   // a round committed on only some servers is left so
};
// All but kNone.
std::vector<Plant> AllPlants();
// "wrong_reply"; "" for kNone.
std::string_view PlantName(Plant plant);
absl::StatusOr<Plant> ParsePlant(std::string_view name);
// Whether the bug applies to a workload of this name.
bool PlantConcerns(Plant plant, std::string_view workload);

// Rules that a run broke. Keeps the text of the first few.
class Violations {
 public:
  void Add(MonotonicTime time, std::string_view what);
  bool empty() const { return count_ == 0; }
  uint64_t count() const { return count_; }
  const std::vector<std::string>& texts() const { return texts_; }

 private:
  uint64_t count_ = 0;
  std::vector<std::string> texts_;
};

// The totals of a run.
struct Tally {
  uint64_t requests = 0;
  uint64_t replies = 0;    // with status OK
  uint64_t retries = 0;    // requests that repeat an unanswered one
  uint64_t cancelled = 0;  // by the caller
  uint64_t late = 0;       // deadline exceeded
  uint64_t lost = 0;       // unavailable
};

// A cluster of nodes and the load on it. The world is created after the
// workload and destroyed before it.
class Workload {
 public:
  virtual ~Workload() = default;

  // Adds nodes and starts them. `violations` must outlive the workload.
  virtual void Start(SimWorld& world, Violations& violations) = 0;

  // The faults have ended. From now on there is no new load; outstanding work
  // must succeed, and then `finished` is true.
  virtual void Finish() = 0;
  virtual bool finished() = 0;
  // What it is still waiting for, for messages.
  virtual std::string Progress() const = 0;

  // The checks that need the whole run.
  virtual void Check() = 0;
  virtual const Tally& tally() const = 0;
  // Other results, such as how fast it was; usually empty.
  virtual std::string Remark() const { return ""; }
};

// Creates the workload that `scenario` names. InvalidArgument, naming the file
// and the key, if there is none or its parameters are wrong.
absl::StatusOr<std::unique_ptr<Workload>> NewWorkload(const Scenario& scenario,
                                                      uint64_t seed,
                                                      Plant plant);

}  // namespace capstan::simulate
