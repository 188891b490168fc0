// The place where one coroutine sleeps until somebody wakes it: the building
// block of Event, of simulated timers and of in-memory streams.
//
// A Waiter belongs to one executor and is used from it alone. When the
// executor's context is destroyed, every coroutine that still sleeps in a
// Waiter is destroyed with it, without being resumed: that is how a simulated
// node crashes, and why shutting down leaks nothing even where a coroutine and
// the object it waits in own one another.
#pragma once

#include <asio/async_result.hpp>
#include <asio/execution_context.hpp>
#include <asio/use_awaitable.hpp>
#include <optional>

#include "base/async/task.h"

namespace capstan {

class PendingWaiters;

class Waiter {
 public:
  explicit Waiter(const Executor& executor);
  // A coroutine that still sleeps here is destroyed.
  ~Waiter();
  Waiter(const Waiter&) = delete;
  Waiter& operator=(const Waiter&) = delete;

  // Sleeps until Wake. At most one coroutine may sleep at a time.
  Task<> Sleep();

  // Resumes the sleeper soon, from the executor's queue and not from inside
  // this call. Returns false if nobody sleeps.
  bool Wake();

  // Resumes the sleeper at once, inside this call, which returns when it sleeps
  // again or ends. For a caller on the executor who is prepared for whatever
  // the sleeper does. Returns false if nobody sleeps.
  bool WakeNow();

  bool occupied() const { return handler_.has_value(); }
  const Executor& executor() const { return executor_; }

 private:
  friend class PendingWaiters;
  using Handler =
      asio::async_result<asio::use_awaitable_t<>, void()>::handler_type;

  struct Resume;

  void Store(Handler&& handler);
  // Takes the handler out of the list of sleepers.
  std::optional<Handler> Take();

  Executor executor_;
  PendingWaiters& pending_;
  std::optional<Handler> handler_;
  // Neighbours in the list of sleepers of this context.
  Waiter* previous_ = nullptr;
  Waiter* next_ = nullptr;
};

}  // namespace capstan
