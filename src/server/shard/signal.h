// One thread tells a coroutine on another that something has changed.
#pragma once

#include <asio/post.hpp>
#include <memory>

#include "base/async/task.h"
#include "base/async/waiter.h"

namespace capstan {

// Shared by the coroutine and its waker, either of which may be destroyed
// first.
class Signal : public std::enable_shared_from_this<Signal> {
 public:
  // `home` is the executor of the coroutine that waits.
  explicit Signal(const Executor& home) : home_(home), waiter_(home) {}

  // From any thread, any number of times.
  void Set() {
    asio::post(home_, [self = shared_from_this()] { self->SetHere(); });
  }
  // The same, on `home`.
  void SetHere() {
    set_ = true;
    waiter_.Wake();
  }

  // On `home`: returns once the signal is set.
  Task<> Wait() {
    while (!set_) co_await waiter_.Sleep();
  }

 private:
  const Executor home_;
  // Used only on `home_`.
  Waiter waiter_;
  bool set_ = false;
};

}  // namespace capstan
