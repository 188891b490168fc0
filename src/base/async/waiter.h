// Where one coroutine sleeps until another wakes it: the building block of
// Event, of simulated timers and of in-memory streams.
//
// A Waiter belongs to one executor and is used only from it. When the
// executor's context is destroyed, every coroutine that is still sleeping in a
// Waiter is destroyed with it, without being resumed. This is how a simulated
// node crashes, and why shutdown leaks nothing even where a coroutine and the
// object that it waits in own each other.
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
  // Destroys a coroutine that is still sleeping here.
  ~Waiter();
  Waiter(const Waiter&) = delete;
  Waiter& operator=(const Waiter&) = delete;

  // Sleeps until Wake. At most one coroutine may sleep at a time.
  Task<> Sleep();

  // Resumes the sleeper soon: from the executor's queue, not inside this call.
  // Returns false if nobody is sleeping.
  bool Wake();

  // Resumes the sleeper inside this call, which returns when the sleeper sleeps
  // again or ends. For callers on the executor that can cope with anything the
  // sleeper does. Returns false if nobody is sleeping.
  bool WakeNow();

  bool occupied() const { return handler_.has_value(); }
  const Executor& executor() const { return executor_; }

 private:
  friend class PendingWaiters;
  using Handler =
      asio::async_result<asio::use_awaitable_t<>, void()>::handler_type;

  struct Resume;

  void Store(Handler&& handler);
  // Removes the handler from the list of sleepers.
  std::optional<Handler> Take();

  Executor executor_;
  PendingWaiters& pending_;
  std::optional<Handler> handler_;
  // Neighbours in the list of sleepers of this context.
  Waiter* previous_ = nullptr;
  Waiter* next_ = nullptr;
};

}  // namespace capstan
