// The variables of a job as its coordinator has them: makes and drops them, and
// knows which history they are of.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/async/event.h"
#include "base/async/task.h"
#include "base/status.h"
#include "capstan/partitioner.h"
#include "capstan/variable.h"
#include "client/parameter_client.h"
#include "coordinator/closure/closure_queue.h"
#include "coordinator/job_record.h"
#include "variable/shard_map.h"

namespace capstan {

// What the update modes of variables ask for together. InvalidArgument, naming
// two that contradict one another.
absl::StatusOr<RoundRules> RulesOf(std::span<const VariableEntry> entries);

// Lives on the client's executor. One call of Create or Drop at a time.
class JobVariables {
 public:
  // What is passed by reference must outlive it. `term` is the coordinator's.
  // `attach`: whether to go on with what another coordinator has left.
  // `begin_without`: whether to begin without servers that do not answer, if
  // others of them have variables; what it had is in a checkpoint.
  JobVariables(ParameterClient& client, ClosureQueue& queue,
               std::function<uint64_t()> term, bool attach, bool begin_without);

  // Takes over what a coordinator before this one has left on the servers, if
  // all of them still have it: variables, steps, rounds and record. Else begins
  // a new generation, in which there is nothing. Does nothing the second time.
  // Create does it, if nobody has. Unavailable or the like if a server does not
  // answer, and the job neither has gone on nor may begin without it.
  Task<absl::Status> Begin();
  // Whether it did the former.
  bool attached() const { return attached_; }
  // Why it did not although something was there; empty if there was nothing.
  const std::string& detached_because() const { return detached_because_; }

  // Adds variables to those that there are. One that was taken over is kept as
  // it is, once; FailedPrecondition if it is another one.
  // Errors of AddVariables, RulesOf and Install; FailedPrecondition for other
  // rules after rounds have begun. What there was is there again then.
  Task<absl::Status> Create(std::vector<VariableSpec> specs,
                            Partitioner partitioner);
  Task<absl::Status> Drop(std::vector<std::string> names);
  // Errors of SetLearningRate (variable/shard_map.h) and Install.
  Task<absl::Status> ChangeLearningRate(std::vector<std::string> names,
                                        LearningRate rate);

  // As in client/by_name.h; an update is a step of its own. Reading takes at
  // most `limit`.
  Task<absl::StatusOr<std::vector<Tensor>>> Read(std::vector<std::string> names,
                                                 Duration limit);
  Task<absl::StatusOr<Tensor>> ReadRows(std::string name,
                                        std::vector<int64_t> ids,
                                        Duration limit);
  // Cancelled by `cancellation`, which may be null.
  Task<absl::StatusOr<UpdateResult>> Apply(Operation operation,
                                           std::vector<VariableUpdate> updates,
                                           Cancellation* cancellation);

  // Makes the variables of this coordinator once more, in a new generation and
  // with their initial values, on the servers without `left_out`: after a
  // server has lost its own. The numbers of steps go on, the record is empty.
  // Nothing may be in flight.
  // Cancelled by `cancellation`, after which it can be tried again.
  Task<absl::Status> Rebuild(std::vector<uint32_t> left_out,
                             Cancellation* cancellation);

  // Added up over all shards.
  Task<absl::StatusOr<std::vector<uint64_t>>> Staleness();

  // Tells the servers how far the job is, and the record; OK if there is
  // nothing to tell. Cancelled by `cancellation`, which may be null.
  Task<absl::Status> MoveWatermark(uint64_t watermark,
                                   Cancellation* cancellation);

  // Thread-safe.
  RecordKeeper& records() { return records_; }
  // Returns when the servers have the newest record that they may have, and
  // know of all steps that are over: from then on an update of one of those
  // that is still on its way, as of a function that was called off, changes
  // nothing. Cancelled by `cancellation`, which may be null.
  Task<absl::Status> Publish(Cancellation* cancellation = nullptr);

  // Of what is sent to the servers now.
  Fence fence() const;
  bool any() const { return !map_.entries().empty(); }
  const ShardMap& map() const { return map_; }

  ParameterClient& client() { return client_; }

 private:
  struct Answer {
    uint32_t server = 0;
    StoreReport report;
  };
  using Answers = std::vector<Answer>;
  // What the servers without `left_out` hold. Errors of Status.
  Task<absl::StatusOr<Answers>> Ask(std::vector<uint32_t> left_out);
  // The same of all servers. One that does not answer is in `absent`, if the
  // job has gone on without it, or may begin without it.
  Task<absl::StatusOr<Answers>> AskAll(std::vector<uint32_t>& absent);
  // Whether all servers have the same variables, but for those that the job has
  // gone on without; else why not, or nothing if there are none.
  static bool CanAttach(const Answers& answers,
                        const std::vector<uint32_t>& absent,
                        std::string& because);
  Task<absl::Status> Attach(uint64_t generation);
  // A round that a server has begun to commit is committed on all, in the same
  // way.
  Task<absl::Status> SettleLastRound(const Answers& answers);
  Task<absl::Status> Install(ShardMap map);
  // Brings the record up to date with the keys of steps.
  void AccountKeys();
  // Takes over the keys that a record has, after Resume of the queue.
  absl::Status LoadKeys(const JobRecord& record, uint64_t last);
  // One after the other: of two requests with the same watermark, a server
  // keeps the record of the one that comes last.
  Task<absl::Status> Tell(RecordKeeper::Notice notice, UpdateOptions options);

  ParameterClient& client_;
  ClosureQueue& queue_;
  const std::function<uint64_t()> term_;
  const bool attach_;
  const bool begin_without_;
  bool attached_ = false;
  std::string detached_because_;
  std::set<std::string> unclaimed_;  // taken over, and not yet asked for
  RecordKeeper records_;
  uint64_t generation_ = 0;
  // The newest that this has tried to begin: one that has failed is known to
  // servers that may not be asked the next time.
  uint64_t tried_ = 0;
  uint64_t watermark_ = 0;                              // that the servers know
  uint64_t keys_version_ = 0;                           // that the record has
  bool telling_ = false;                                // them, now
  std::deque<std::shared_ptr<Promise<bool>>> to_tell_;  // who waits for that
  ShardMap map_;
};

}  // namespace capstan
