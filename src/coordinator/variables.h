// The variables of a job, as its coordinator sees them: creates and drops them,
// and knows the generation that they belong to.
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

// Combines the update modes of all variables. InvalidArgument, naming two
// variables that contradict each other.
absl::StatusOr<RoundRules> RulesOf(std::span<const VariableEntry> entries);

// Lives on the client's executor. One call of Create or Drop at a time.
class JobVariables {
 public:
  // References must outlive it. `term` returns the coordinator's term.
  // `attach`: whether to resume from what another coordinator left.
  // `begin_without`: whether to begin without servers that do not answer if
  // others have variables; what the missing ones held is in a checkpoint.
  JobVariables(ParameterClient& client, ClosureQueue& queue,
               std::function<uint64_t()> term, bool attach, bool begin_without);

  // Takes over what an earlier coordinator left on the servers, if all of them
  // still have it: variables, steps, rounds and record. Otherwise begins a new,
  // empty generation. Does nothing when called again. Create calls it if nobody
  // has. Unavailable or the like if a server does not answer, unless the job
  // already continued without that server or may begin without it.
  Task<absl::Status> Begin();
  // Whether Begin took over an earlier job.
  bool attached() const { return attached_; }
  // Why it did not, although there was one; empty if there was none.
  const std::string& detached_because() const { return detached_because_; }

  // Adds variables. A variable that was taken over is kept as it is, once;
  // FailedPrecondition if its spec differs. Errors of AddVariables, RulesOf and
  // Install; FailedPrecondition for other rules after rounds have begun. On an
  // error the variables are what they were before.
  Task<absl::Status> Create(std::vector<VariableSpec> specs,
                            Partitioner partitioner);
  Task<absl::Status> Drop(std::vector<std::string> names);
  // Errors of SetLearningRate (variable/shard_map.h) and Install.
  Task<absl::Status> ChangeLearningRate(std::vector<std::string> names,
                                        LearningRate rate);

  // As in client/by_name.h; each update is a step. Reading takes at most
  // `limit`.
  Task<absl::StatusOr<std::vector<Tensor>>> Read(std::vector<std::string> names,
                                                 Duration limit);
  Task<absl::StatusOr<Tensor>> ReadRows(std::string name,
                                        std::vector<int64_t> ids,
                                        Duration limit);
  // Cancelled by `cancellation`, which may be null.
  Task<absl::StatusOr<UpdateResult>> Apply(Operation operation,
                                           std::vector<VariableUpdate> updates,
                                           Cancellation* cancellation);

  // After a server has lost its variables: creates those of this coordinator
  // again, in a new generation and with their initial values, on the servers
  // that are not in `left_out`. Step numbers continue; the record is empty.
  // Nothing may be in flight. Cancelled by `cancellation`, after which it can
  // be tried again.
  Task<absl::Status> Rebuild(std::vector<uint32_t> left_out,
                             Cancellation* cancellation);

  // Summed over all shards.
  Task<absl::StatusOr<std::vector<uint64_t>>> Staleness();

  // Sends the watermark and the record to the servers; OK if there is nothing
  // new. Cancelled by `cancellation`, which may be null.
  Task<absl::Status> MoveWatermark(uint64_t watermark,
                                   Cancellation* cancellation);

  // Thread-safe.
  RecordKeeper& records() { return records_; }
  // Returns when the servers have the newest record that they may have and know
  // of all steps that have ended: from then on an update of such a step that is
  // still in transit, as from a function that was cancelled, changes nothing.
  // Cancelled by `cancellation`, which may be null.
  Task<absl::Status> Publish(Cancellation* cancellation = nullptr);

  // For requests to the servers now.
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
  // What the servers outside `left_out` hold. Errors of Status.
  Task<absl::StatusOr<Answers>> Ask(std::vector<uint32_t> left_out);
  // Asks all servers. One that does not answer is put into `absent` if the job
  // already continued without it or may begin without it.
  Task<absl::StatusOr<Answers>> AskAll(std::vector<uint32_t>& absent);
  // Whether all servers have the same variables, except those that the job
  // continued without. If not, `because` says why; it is empty if there are no
  // variables.
  static bool CanAttach(const Answers& answers,
                        const std::vector<uint32_t>& absent,
                        std::string& because);
  Task<absl::Status> Attach(uint64_t generation);
  // If a server has begun to commit a round, commits it on all servers with the
  // same replicas.
  Task<absl::Status> SettleLastRound(const Answers& answers);
  Task<absl::Status> Install(ShardMap map);
  // Updates the record with the keys of steps.
  void AccountKeys();
  // Takes over the keys of a record; called after the queue's Resume.
  absl::Status LoadKeys(const JobRecord& record, uint64_t last);
  // Sends one request at a time: of two requests with the same watermark, a
  // server keeps the record of the later one.
  Task<absl::Status> Tell(RecordKeeper::Notice notice, UpdateOptions options);

  ParameterClient& client_;
  ClosureQueue& queue_;
  const std::function<uint64_t()> term_;
  const bool attach_;
  const bool begin_without_;
  bool attached_ = false;
  std::string detached_because_;
  std::set<std::string> unclaimed_;  // taken over, not yet requested by Create
  RecordKeeper records_;
  uint64_t generation_ = 0;
  // The newest generation that this coordinator tried to begin: a failed
  // attempt is known to some servers, which may not be asked the next time.
  uint64_t tried_ = 0;
  uint64_t watermark_ = 0;     // that the servers have
  uint64_t keys_version_ = 0;  // that the record has
  bool telling_ = false;       // a request is under way
  std::deque<std::shared_ptr<Promise<bool>>> to_tell_;  // who waits for that
  ShardMap map_;
};

}  // namespace capstan
