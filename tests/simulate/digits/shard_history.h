// What one shard may say, judged by the rules of docs/simulation.md: an add is
// unique and never taken back, so whether reads and updates are linearizable
// needs no search.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "simulate/digits/slot_set.h"

namespace capstan::simulate {

// One shard in one generation. Times are those of the calls: what is called
// earlier happened earlier.
class ShardHistory {
 public:
  // Somebody begins to send the update `slot`: from now on it may be seen.
  void OnInvoke(size_t slot);
  // It was acknowledged: whoever begins to read now must see it.
  void OnAck(size_t slot) { acked_.Insert(slot); }

  // Whoever begins to read now must see at least this.
  SlotSet MustSee() const;
  // Somebody who had to see `must` has seen `seen`. What is wrong about it, or
  // "".
  std::string OnRead(const SlotSet& must, const SlotSet& seen);

  // A new coordinator has fenced the old one off and then read `seen`: what is
  // not among it, and is not sent again, will never be seen.
  void OnTakeover(const SlotSet& seen) { allowed_ = seen; }

  const SlotSet& acked() const { return acked_; }

 private:
  std::string CheckOrder(const SlotSet& seen) const;
  std::string CheckChain(const SlotSet& seen);

  SlotSet allowed_;
  SlotSet acked_;
  SlotSet seen_;  // by anybody who has finished reading
  // By slot: the how-manieth it was to be sent, and what was acknowledged then.
  struct Start {
    size_t order = 0;
    SlotSet acked;
  };
  std::map<size_t, Start> starts_;
  size_t next_order_ = 0;
  // The sets that were seen, by size.
  std::map<size_t, SlotSet> chain_;
};

}  // namespace capstan::simulate
