// One coroutine tells another on the same executor that something happened.
#pragma once

#include <optional>
#include <utility>

#include "base/async/task.h"
#include "base/async/waiter.h"

namespace capstan {

// A flag that a coroutine waits for; Wait clears it. Any number of Set calls
// before a Wait count as one. At most one waiter at a time.
class Event {
 public:
  explicit Event(const Executor& executor) : waiter_(executor) {}

  void Set() {
    set_ = true;
    waiter_.Wake();
  }

  // Returns once the flag is set, and clears it.
  Task<> Wait() {
    while (!set_) co_await waiter_.Sleep();
    set_ = false;
  }

  bool is_set() const { return set_; }

 private:
  Waiter waiter_;
  bool set_ = false;
};

// A value that one coroutine waits for and another provides, once.
template <typename T>
class Promise {
 public:
  explicit Promise(const Executor& executor) : waiter_(executor) {}

  // Provides the value; later calls are ignored and return false.
  bool Set(T value) {
    if (done_) return false;
    done_ = true;
    value_.emplace(std::move(value));
    waiter_.Wake();
    return true;
  }

  // Waits for the value and takes it. Call once.
  Task<T> Get() {
    while (!value_) co_await waiter_.Sleep();
    T value = std::move(*value_);
    value_.reset();
    co_return value;
  }

  bool done() const { return done_; }

 private:
  Waiter waiter_;
  std::optional<T> value_;
  bool done_ = false;
};

}  // namespace capstan
