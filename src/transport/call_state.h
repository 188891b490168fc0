// What an outstanding call sleeps on while it waits for its turn, a connection
// or the answer. Anything that ends the call early (deadline, cancellation,
// loss of the connection) does so through this object, and the call cleans up
// after itself.
#pragma once

#include <utility>

#include "absl/status/status.h"
#include "base/async/task.h"
#include "base/async/waiter.h"

namespace capstan {

class CallState {
 public:
  explicit CallState(const Executor& executor) : waiter_(executor) {}

  // Ends the call with `status`; the first to do so wins.
  void End(absl::Status status) {
    if (ended_) return;
    ended_ = true;
    status_ = std::move(status);
    waiter_.Wake();
  }

  // Makes the call check again what it is waiting for.
  void Wake() { waiter_.Wake(); }

  // Like Wake, but runs the call right now, before WakeNow returns.
  void WakeNow() { waiter_.WakeNow(); }

  // Sleeps until the next Wake or End.
  Task<> Sleep() { return waiter_.Sleep(); }

  bool ended() const { return ended_; }
  const absl::Status& status() const { return status_; }

 private:
  Waiter waiter_;
  bool ended_ = false;
  absl::Status status_;
};

}  // namespace capstan
