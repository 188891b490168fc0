// How a coordinator comes into term and loses it: what the tasks' answers
// mean for its claim to the job.
//
// A coordinator begins by asking: its term has term 0, which no task obeys.
// When all have been asked, and none hears another coordinator, it claims the
// term above all that it was told of. It acts only once the tasks have obeyed.
// So a second chief, started by mistake, changes nothing; and one that replaces
// a dead chief waits for nobody, as tasks see the connections of the dead
// close.
//
// A coordinator that holds its term, but has been silent, may find that tasks
// obey a later one: it is deposed by the first that says so (once the job has
// started, by the first server). While some tasks hear one coordinator and some
// the other, the one with the higher term (term, then incarnation) waits for
// the other to be deposed, and then claims the rest: nobody gives way to a
// lower term, and terms only rise, so that one remains.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "wire/membership.h"

namespace capstan {

// Not thread-safe.
class Claim {
 public:
  // Another coordinator, which a task obeys and hears.
  struct Rival {
    CoordinatorTerm coordinator_term;
    std::string address;
    uint64_t heard_ms = 0;
  };
  // Of one task to this coordinator.
  struct Stance {
    bool asked = false;   // one call at least has ended
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

  // A task answers.
  Answer OnReport(Stance& stance, const TaskReport& report);
  // A task does not answer.
  void OnError(Stance& stance);

  // Whether the term it has is not enough for all tasks that have answered.
  bool WantsTerm() const { return coordinator_term_.term == 0 || outbid_; }
  // Claims a term above all.
  void TakeTerm();

 private:
  CoordinatorTerm coordinator_term_;
  bool in_charge_ = false;  // some task obeys, or did
  bool outbid_ = false;     // by an term that nobody holds any more
  uint64_t highest_ = 0;    // term of all terms so far
};

}  // namespace capstan
