// Admits calls in order while their bytes in flight stay within a limit.
#pragma once

#include <cstdint>
#include <list>

#include "absl/status/status.h"
#include "transport/call_state.h"

namespace capstan {

// Lives on one executor.
class Turnstile {
 public:
  explicit Turnstile(uint64_t limit) : limit_(limit) {}

  // A call's place in the queue and, once granted, its bytes; both are released
  // when this object is destroyed. A single call may exceed the limit.
  class Passage {
   public:
    Passage(Turnstile& turnstile, CallState& state, uint64_t bytes);
    ~Passage();
    Passage(const Passage&) = delete;
    Passage& operator=(const Passage&) = delete;
    // Whether the call may proceed. `state` is woken when this becomes true.
    bool granted() const { return granted_; }

   private:
    friend class Turnstile;
    Turnstile& turnstile_;
    CallState& state_;
    const uint64_t bytes_;
    bool granted_ = false;
    std::list<Passage*>::iterator place_;
  };

  // Ends the waiting calls.
  void EndAll(const absl::Status& status);

 private:
  // Grants from the front of the queue while there is room.
  void Grant();

  const uint64_t limit_;
  uint64_t used_ = 0;
  std::list<Passage*> waiting_;
};

}  // namespace capstan
