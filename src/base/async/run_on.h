// From a plain thread into coroutines and back: runs a task to completion and
// waits for it.
#pragma once

#include <exception>
#include <future>
#include <memory>
#include <type_traits>
#include <utility>

#include "base/async/task.h"

namespace capstan {

// Starts `task` on `executor` and returns a future for its result. The result
// is set on the executor itself; asio::use_future would use threads of its own
// for that, which a simulation cannot have. If the executor's context is
// destroyed first, the future throws std::future_error.
template <typename T>
std::future<T> StartOn(const Executor& executor, Task<T> task) {
  auto promise = std::make_shared<std::promise<T>>();
  std::future<T> future = promise->get_future();
  constexpr auto kRun = [](Task<T> inner,
                           std::shared_ptr<std::promise<T>> result) -> Task<> {
    try {
      if constexpr (std::is_void_v<T>) {
        co_await std::move(inner);
        result->set_value();
      } else {
        T value = co_await std::move(inner);
        result->set_value(std::move(value));
      }
    } catch (...) {
      result->set_exception(std::current_exception());
    }
  };
  Spawn(executor, kRun(std::move(task), std::move(promise)));
  return future;
}

// Runs `task` on `executor`, whose context another thread runs, and blocks the
// calling thread until the task returns. Deadlocks if called from the
// executor's own thread.
template <typename T>
T RunOn(const Executor& executor, Task<T> task) {
  return StartOn(executor, std::move(task)).get();
}

// The same for a plain function.
template <typename Function>
void CallOn(const Executor& executor, Function function) {
  constexpr auto kCall = [](Function inner) -> Task<> {
    inner();
    co_return;
  };
  RunOn(executor, kCall(std::move(function)));
}

}  // namespace capstan
