// Judges the exact_digits workload: what is read against what was sent and
// acknowledged. docs/simulation.md lists the rules.
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
  // What whoever begins to read now must see: by shard, those of `dense` first.
  struct View {
    uint64_t generation = 0;
    std::vector<SlotSet> must;
  };

  DigitJudge(SimWorld& world, Violations& violations,
             const DigitOptions& options, const DigitVariables& variables);

  // The coordinator is about to start a generation, whose updates have the
  // slots from `first_slot` on.
  void OnGeneration(uint64_t generation, size_t first_slot);
  // Every server has heard of the term of `fence`, and nobody has sent anything
  // in it yet, when `values` were read. False if nothing of the last commit
  // that was sent has taken effect anywhere: then it never will.
  bool OnTakeover(const Fence& fence, const DigitValues& values);
  // A commit is about to be sent, and was acknowledged by all servers.
  void OnCommit(const Fence& fence, const RoundDecision& decision);
  void OnCommitted(const Fence& fence, const RoundDecision& decision);

  // An update is about to be sent, and was acknowledged by all servers.
  void OnInvoke(const Fence& fence, size_t slot);
  void OnAck(const Fence& fence, size_t slot, const UpdateResult& summary);
  // How a call failed.
  void OnFailure(const absl::Status& status);

  View OnReadBegin() const;
  // A variable was read in `round` (0: in none) and is of `generation`.
  void OnRead(const View& view, DigitVariable variable, uint64_t generation,
              uint64_t round, std::span<const float> values);
  // The last generation is over, and had `steps`; these are its values.
  void OnEnd(uint64_t steps, const DigitValues& values);

  void Violation(std::string_view what);
  Tally& tally() { return tally_; }

 private:
  struct Generation {
    size_t first_slot = 0;
    uint64_t term = 0;  // older ones are fenced off
    std::vector<ShardHistory> shards;
    // Of the synchronous rounds: their slots in the order of the sum, and all
    // up to and with each.
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
