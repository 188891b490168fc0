// Judges the closures workload: compares the fate of each closure with what its
// program was told, what the variables say, and which data was used.
// docs/simulation.md lists the rules.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "capstan/variable.h"
#include "coordinator/closure/closure_queue.h"
#include "simulate/closures/closure_call.h"
#include "simulate/closures/closure_options.h"
#include "simulate/closures/closure_variables.h"
#include "simulate/digits/shard_history.h"
#include "simulate/workload.h"

namespace capstan::simulate {

// Used from the simulation's thread.
class ClosureJudge {
 public:
  using ClosurePtr = ClosureQueue::ClosurePtr;

  ClosureJudge(SimWorld& world, Violations& violations,
               const ClosureOptions& options,
               const ClosureVariables& variables);

  // --- The program.

  // A new closure with the next number; if `wanted`, somebody waits for its
  // value.
  ClosurePtr NewClosure(ClosureKind kind, const DataRange& range, bool wanted);
  // The same closure again, in another life of the coordinator: whether it has
  // taken effect concerns the whole job. If it was created but never put,
  // returns that one.
  ClosurePtr Renew(size_t number);
  // Whether it has succeeded, in any life; and whether the queue has reported
  // its end since it was last put.
  bool Succeeded(size_t number) const { return records_[number].ok(); }
  bool Ended(size_t number) const { return records_[number].ended > 0; }
  // The program is about to cancel it.
  void OnCancel(size_t number) { records_[number].cancel_requested = true; }
  // The coordinator was killed: nothing more will be heard of what it had put.
  void OnNewLife();
  size_t num_closures() const { return records_.size(); }
  const ClosureCall& call(size_t number) const { return records_[number].call; }
  // It is now queued (OnPut), or was refused because of an error (OnRefused).
  void OnPut(size_t number);
  void OnRefused(size_t number) { records_[number].refused = true; }
  // Chooses a closure that was put, for the program to cancel; null if there is
  // none.
  ClosurePtr ChooseToCancel(Random& random);
  // The program is about to call the queue: from then on a pending error
  // cancels the other closures.
  void OnCall(const ClosureQueue& queue);
  // The queue reports that it has ended.
  void OnEnded(size_t number);
  // A call reported an error; `queue` is in its state right afterwards.
  void OnError(const absl::Status& status, const ClosureQueue& queue);
  // Join returned, for everything that was put.
  void OnJoined();
  // The coordinator is about to hear that a server is lost.
  void OnServerScare() { ++server_scares_; }

  // Whether all examples of the epochs before `epoch` have been used.
  bool AllUsed(uint64_t epoch) const;

  // --- The functions.

  // A function starts on a worker (OnRun); it has computed, since `since`
  // (OnComputed).
  void OnRun(size_t number);
  void OnComputed(MonotonicTime since);
  // It kills its worker.
  void OnCrash(size_t number) { ++records_[number].crashes; }
  // An update is about to be sent (OnInvoke), and was acknowledged by all
  // servers (OnAck).
  void OnInvoke(size_t number, DigitVariable variable);
  void OnAck(size_t number, size_t push, const std::vector<DigitVariable>& of,
             const UpdateResult& result);

  // What a read of a table that starts now must see: by shard, those of `dense`
  // first.
  using View = std::vector<SlotSet>;
  View OnReadBegin(size_t table) const;
  // A variable was read by closure `reader`, or by the program if nullopt.
  void OnRead(const View& view, size_t table, DigitVariable variable,
              std::span<const float> values, std::optional<size_t> reader);

  // --- The end.

  // Nothing happens any more, and these are a table's values.
  void OnFinal(size_t table, DigitVariable variable,
               std::span<const float> values);
  // The job has ended: all of the first `count` closures have succeeded.
  void CheckAllSucceeded(size_t count);
  // All tables have been read.
  void OnEnd();
  // How busy the workers were, if measured.
  std::string BusyText() const;

  void Violation(std::string_view what);
  Tally& tally() { return tally_; }

 private:
  struct Record {
    ClosureCall call;
    ClosurePtr closure;
    std::shared_ptr<const void> wanted;
    bool has_range = false;
    bool put = false;
    bool refused = false;
    bool cancel_requested = false;
    int ended = 0;             // how often its end was reported, in this life
    bool cut_off = false;      // its coordinator was killed
    bool succeeded = false;    // in an earlier life
    uint64_t first_round = 0;  // its round in the first life, if kept
    size_t lives = 0;          // in which it was put
    size_t life = 0;           // the last of them
    uint64_t reports = 0;      // errors that had been reported when it was put
    size_t crashes = 0;        // of workers, caused by its function
    size_t runs = 0;
    std::map<size_t, uint64_t> applied;  // by push: shards, by the answers
    bool ended_now() const { return closure->state == Closure::State::kDone; }
    bool done() const { return succeeded || ended_now(); }
    bool ok() const {
      return succeeded || (ended_now() && closure->status.ok());
    }
    uint64_t round() const {
      return first_round != 0 ? first_round : closure->place.round;
    }
  };
  // What the shards have of a synchronous round.
  struct Round {
    SlotSet slots;
    bool final = false;  // it will have no more
  };

  static void MakeClosure(Record& record);
  ShardHistory& History(size_t table, DigitVariable variable, size_t shard);
  std::string NameOfShard(size_t table, DigitVariable variable,
                          size_t shard) const;
  void CheckStatus(const Record& record);
  // Whether a failure can have cancelled it: one that the program has been told
  // of, or is about to be.
  bool CalledOff(const Record& record) const;
  void CheckPoison(const Record& record);
  void CheckValue(const Record& record);
  void UseData(const Record& record);
  void CheckDigits(const std::string& shard, const Decoded& decoded);
  void CheckRounds(const std::string& shard, const SlotSet& seen,
                   std::optional<size_t> reader);
  void CheckClocks(const std::string& shard, size_t table, const SlotSet& seen,
                   size_t reader);
  void CheckFinalRounds();
  double Busy() const;

  SimWorld& world_;
  Violations& violations_;
  const ClosureOptions& options_;
  const ClosureVariables& variables_;
  std::vector<Record> records_;
  size_t first_open_ = 0;  // records before it are done
  std::vector<ShardHistory> histories_;
  std::map<uint64_t, Round> rounds_;
  // By epoch: how often each example was used.
  std::map<uint64_t, std::vector<uint32_t>> used_;
  uint64_t reports_ = 0;     // of errors
  bool unreported_ = false;  // a closure has failed since the last report
  bool called_ = false;      // the program has called since that failure
  size_t first_unjoined_ = 0;
  uint64_t server_scares_ = 0;
  // Steps that an error cancelled are among these.
  std::vector<std::pair<uint64_t, uint64_t>> called_off_;
  uint64_t joined_step_ = 0;
  uint64_t last_step_ = 0;
  size_t runs_ = 0;
  size_t life_ = 0;  // of the coordinator
  std::vector<std::pair<MonotonicTime, MonotonicTime>> computed_;
  // From when until when all workers should have been busy.
  MonotonicTime busy_begin_ = kNever;
  MonotonicTime busy_end_ = kNever;
  Tally tally_;
};

}  // namespace capstan::simulate
