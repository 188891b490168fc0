// What a call under way sleeps in, whatever it waits for: its turn, a
// connection, the answer. Whoever ends the call early (deadline, cancellation,
// loss of the connection) ends it here, and the call cleans up after itself.
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

  // Makes the call look again at what it waits for.
  void Wake() { waiter_.Wake(); }

  // The same at once, inside this call.
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
