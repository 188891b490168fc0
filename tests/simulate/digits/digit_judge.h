// Judges the exact_digits workload: compares what is read with what was sent
// and acknowledged. docs/simulation.md lists the rules.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "client/parameter_client.h"
#include "simulate/digits/digit_ledger.h"
#include "simulate/digits/digit_options.h"
#include "simulate/digits/digit_variables.h"
#include "simulate/digits/shard_history.h"
#include "simulate/workload.h"

namespace capstan::simulate {

// Used from the simulation's thread.
class DigitJudge {
 public:
  // What a read that starts now must see: by shard, those of `dense` first.
  struct View {
    uint64_t generation = 0;
    std::vector<SlotSet> must;
  };

  DigitJudge(SimWorld& world, Violations& violations,
             const DigitOptions& options, const DigitVariables& variables);

  // The coordinator is about to start a generation, whose updates use the slots
  // from `first_slot` on.
  void OnGeneration(uint64_t generation, size_t first_slot);
  // Every server has learned the term of `fence`, and nobody had sent anything
  // in that term when `values` were read. Returns false if the last commit that
  // was sent has taken effect nowhere: then it never will.
  bool OnTakeover(const Fence& fence, const DigitValues& values);
  // A commit is about to be sent (OnCommit), and was acknowledged by all
  // servers (OnCommitted).
  void OnCommit(const Fence& fence, const RoundDecision& decision);
  void OnCommitted(const Fence& fence, const RoundDecision& decision);

  // An update is about to be sent (OnInvoke), and was acknowledged by all
  // servers (OnAck).
  void OnInvoke(const Fence& fence, size_t slot);
  void OnAck(const Fence& fence, size_t slot, const UpdateResult& summary);
  // A call failed with `status`.
  void OnFailure(const absl::Status& status);

  View OnReadBegin() const;
  // A variable of `generation` was read in `round` (0: in no round).
  void OnRead(const View& view, DigitVariable variable, uint64_t generation,
              uint64_t round, std::span<const float> values);
  // The last generation has ended, after `steps` steps, with these values.
  void OnEnd(uint64_t steps, const DigitValues& values);

  void Violation(std::string_view what);
  Tally& tally() { return tally_; }

 private:
  struct Generation {
    size_t first_slot = 0;
    uint64_t term = 0;  // older terms are fenced off
    std::vector<ShardHistory> shards;
    // By synchronous round: the round's slots in the order of the sum, and all
    // slots of this and earlier rounds.
    std::vector<std::vector<size_t>> rounds;
    std::vector<SlotSet> up_to_round;
  };

  bool IsSync(size_t shard) const;
  std::string NameOfShard(size_t shard) const;
  void CheckDigits(const Generation& generation, size_t shard,
                   const Decoded& decoded);
  void CheckRounds(const Generation& generation, size_t shard, uint64_t round,
                   const SlotSet& seen);
  void CheckClocks(const Generation& generation, size_t shard, uint64_t round,
                   const SlotSet& seen);
  void CheckDrift(const Generation& generation, const DigitValues& values);
  std::span<const float> ValuesOf(const DigitValues& values,
                                  DigitVariable variable) const;

  SimWorld& world_;
  Violations& violations_;
  const DigitOptions& options_;
  const DigitVariables& variables_;
  std::map<uint64_t, Generation> generations_;
  uint64_t current_ = 0;
  std::map<size_t, uint64_t> applied_;  // by slot: how often, by the answers
  Tally tally_;
};

}  // namespace capstan::simulate
