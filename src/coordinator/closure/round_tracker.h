// Assigns closures to places in the rounds of synchronous or bounded training,
// and decides which rounds may run and which are to be committed.
//
// A round has a place for each replica. Closures take places in the order in
// which they are scheduled, whichever workers run them, so the number of
// workers may change at any time.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <set>
#include <vector>

namespace capstan {

// What the variables of a job require.
struct RoundRules {
  uint32_t replicas = 0;  // 0: there are no rounds
  bool sync = false;      // rounds are committed
  uint32_t backup = 0;    // of sync: extra places, which may miss the commit
  bool bounded = false;   // replicas tick
  uint64_t bound = 0;     // of bounded

  uint32_t places() const { return replicas + (sync ? backup : 0); }
  friend bool operator==(const RoundRules&, const RoundRules&) = default;
};

// A place in a round; round 0 means none.
struct RoundPlace {
  uint64_t round = 0;
  uint32_t replica = 0;
  friend bool operator==(const RoundPlace&, const RoundPlace&) = default;
};

// What to tell the servers: a round and some of its replicas.
struct RoundDecision {
  uint64_t round = 0;
  std::vector<uint32_t> replicas;  // of a commit: empty if it is given up
  friend bool operator==(const RoundDecision&, const RoundDecision&) = default;
};

// Not thread-safe.
class RoundTracker {
 public:
  // False, and nothing has changed, if they differ from those of a round that
  // has begun: the servers count the rounds of a job from its first one on.
  bool SetRules(const RoundRules& rules);
  const RoundRules& rules() const { return rules_; }

  // Continues where another coordinator stopped, before any Assign: places are
  // assigned from round `next` on, and the servers have settled all rounds up
  // to `settled`, which may be later ones.
  void Resume(const RoundRules& rules, uint64_t next, uint64_t settled);

  // The next place, for step `step`, the `order`-th that was scheduled.
  RoundPlace Assign(uint64_t step, uint64_t order);
  // The round of the next place if that is the first of its round. 0 if there
  // are no rounds.
  uint64_t next_round() const;

  // Whether a closure of this round may run: the values that it needs are
  // available, so that it never waits on a worker for a closure that is not
  // running.
  bool MayRun(uint64_t round) const;

  // The closure of `place` has ended: Finish if its updates are acknowledged,
  // else Miss.
  void Finish(const RoundPlace& place);
  void Miss(const RoundPlace& place);

  // The round that is being filled gets no more closures.
  void Close();
  // The same, unless that round is later than `last`.
  void CloseUpTo(uint64_t last);
  // Gives up all rounds whose commit is not decided yet: what was staged for
  // them is dropped.
  void Abandon();

  // The next round to commit, in order. Returns the same round with the same
  // replicas until Committed is called.
  std::optional<RoundDecision> NextCommit();
  void Committed(uint64_t number);
  // The first clock that some replicas are done with and the servers were not
  // told of. Returned again, perhaps with more replicas, until Ticked is
  // called.
  std::optional<RoundDecision> NextTick();
  void Ticked(const RoundDecision& tick);

  // The first step of a round that the servers have not settled; UINT64_MAX if
  // there is none. Steps from it on may still take effect.
  uint64_t FirstOpenStep() const;
  // The same by the order in which they were scheduled.
  uint64_t FirstOpenOrder() const;
  // The last round that was committed.
  uint64_t committed() const { return committed_; }

 private:
  struct Round {
    uint64_t first_step = 0;
    uint64_t first_order = 0;
    uint32_t assigned = 0;
    bool closed = false;
    std::vector<uint32_t> finished;  // in the order in which they finished
    uint32_t missed = 0;
    bool abandoned = false;
    std::optional<RoundDecision> decision;
    std::vector<uint32_t> to_tick;
    uint32_t ticked = 0;
  };

  Round* Find(uint64_t round);
  bool AllEnded(const Round& round) const;
  // Replicas without a closure in a closed round tick as well.
  void TickAbsent(Round& round);
  void Forget();

  RoundRules rules_;
  std::deque<Round> rounds_;  // from first_ on
  uint64_t first_ = 1;
  uint64_t committed_ = 0;
  uint64_t ticked_ = 0;  // by all replicas
};

}  // namespace capstan
