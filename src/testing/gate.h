// Where a test's coroutines wait until the test lets them continue, so that
// tests order events without sleeping. Test-only.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>

#include "base/async/event.h"
#include "base/async/task.h"

namespace capstan::testing {

// Thread-safe. Must outlive the coroutines that wait.
class Gate {
 public:
  // Waits on `executor`, which must be the caller's own, until Open.
  Task<> Pass(Executor executor);

  // Lets through all current and future waiters.
  void Open();

  // How many are waiting now.
  size_t waiting() const;

 private:
  class Place;

  mutable std::mutex mutex_;
  bool open_ = false;
  uint64_t next_ = 0;
  std::map<uint64_t, Place*> places_;
};

}  // namespace capstan::testing
