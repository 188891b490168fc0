// Judges the values of one shard by the rules of docs/simulation.md. Each add
// is unique and never undone, so checking that reads and updates are
// linearizable needs no search.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "simulate/digits/slot_set.h"

namespace capstan::simulate {

// One shard in one generation. Events happen in the order of the calls.
class ShardHistory {
 public:
  // The update `slot` is about to be sent: from now on it may be seen.
  void OnInvoke(size_t slot);
  // It was acknowledged: a read that starts now must see it.
  void OnAck(size_t slot) { acked_.Insert(slot); }

  // A read that starts now must see at least this.
  SlotSet MustSee() const;
  // A reader that had to see `must` has seen `seen`. Returns what is wrong with
  // that, or "".
  std::string OnRead(const SlotSet& must, const SlotSet& seen);

  // A new coordinator has fenced off the old one and then read `seen`: updates
  // missing from it that are not sent again will never be seen.
  void OnTakeover(const SlotSet& seen) { allowed_ = seen; }

  const SlotSet& acked() const { return acked_; }

 private:
  std::string CheckOrder(const SlotSet& seen) const;
  std::string CheckChain(const SlotSet& seen);

  SlotSet allowed_;
  SlotSet acked_;
  SlotSet seen_;  // by reads that have finished
  // By slot: its position in the order of sending, and what was acknowledged
  // then.
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
