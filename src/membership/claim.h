// How a coordinator takes charge of a job and loses it: what the tasks' answers
// mean for its claim.
//
// A coordinator starts by asking in term 0, which no task obeys. Once it has
// asked every task, and none hears another coordinator, it claims a term above
// all those reported to it. It acts only after the tasks obey. So a second
// chief started by mistake changes nothing, and a chief that replaces a dead
// one need not wait, because tasks see the dead chief's connections close.
//
// A coordinator in charge that was silent for a while may find that tasks obey
// a later one. It is deposed by the first task that reports this (once the job
// has started, by the first server). While some tasks hear one coordinator and
// some another, the one with the higher CoordinatorTerm (term, then
// incarnation) waits for the other to be deposed, then claims the remaining
// tasks. No coordinator yields to a lower term, and terms only rise, so exactly
// one remains.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "wire/membership.h"

namespace capstan {

// Not thread-safe.
class Claim {
 public:
  // Another coordinator that a task obeys and hears.
  struct Rival {
    CoordinatorTerm coordinator_term;
    std::string address;
    uint64_t heard_ms = 0;
  };
  // Where one task stands toward this coordinator.
  struct Stance {
    bool asked = false;   // at least one call has ended
    bool obeyed = false;  // now or before
    std::optional<Rival> rival;
  };
  enum class Answer {
    kObeys,
    kDoesNot,  // now; it may later
    kDeposes,
  };

  // `holder` is the coordinator's incarnation.
  explicit Claim(uint64_t holder)
      : coordinator_term_{.term = 0, .holder = holder} {}

  const CoordinatorTerm& coordinator_term() const { return coordinator_term_; }

  // Call when a task answers.
  Answer OnReport(Stance& stance, const TaskReport& report);
  // Call when a task does not answer.
  void OnError(Stance& stance);

  // Whether the current term is too low for some task that has answered.
  bool WantsTerm() const { return coordinator_term_.term == 0 || outbid_; }
  // Claims a term above all reported ones.
  void TakeTerm();

 private:
  CoordinatorTerm coordinator_term_;
  bool in_charge_ = false;  // some task obeys, or did
  bool outbid_ = false;     // by a term whose holder is gone
  uint64_t highest_ = 0;    // highest term reported so far
};

}  // namespace capstan
