// How asynchronous code is written here: as coroutines that run on an executor.
//
// An executor stands for one thread (an io_context that one thread runs) or,
// in simulation, for one node. Objects that live on an executor are touched
// from it alone and need no locks; another thread posts to the executor.
#pragma once

#include <asio/any_io_executor.hpp>
#include <asio/awaitable.hpp>
#include <asio/co_spawn.hpp>
#include <asio/execution.hpp>
#include <exception>
#include <utility>

namespace capstan {

using Executor = asio::any_io_executor;

// A coroutine that yields a T. Lazy: it starts when awaited or spawned.
// GCC 12 miscompiles some awaited expressions: keep them to a plain call whose
// arguments are names or std::move(name), with no braces and no temporaries
// that have destructors.
template <typename T = void>
using Task = asio::awaitable<T>;

// Runs what it is given at once. For the end of a coroutine that nobody waits
// for, which Asio would otherwise put into the executor's queue.
struct InlineExecutor {
  template <typename Function>
  void execute(Function&& function) const {
    std::forward<Function>(function)();
  }
  static constexpr asio::execution::blocking_t::never_t query(
      asio::execution::blocking_t) noexcept {
    return {};
  }
  InlineExecutor require(asio::execution::blocking_t::never_t) const noexcept {
    return *this;
  }
  bool operator==(const InlineExecutor&) const noexcept = default;
};

struct Detached {
  using executor_type = InlineExecutor;
  executor_type get_executor() const noexcept { return {}; }
  void operator()(const std::exception_ptr&) const noexcept {}
};

// Starts `task` on `executor` and lets it run by itself; it ends when it
// returns, or is destroyed with the executor's context. It must not throw.
// Called on the executor's own thread, it runs the task at once up to its first
// wait, which may be its end.
inline void Spawn(const Executor& executor, Task<> task) {
  asio::co_spawn(executor, std::move(task), Detached());
}

}  // namespace capstan
