// From a plain thread into coroutines and back: runs one to its end and waits.
#pragma once

#include <asio/co_spawn.hpp>
#include <asio/use_future.hpp>
#include <utility>

#include "base/task.h"

namespace capstan {

// Runs `task` on `executor`, whose context another thread runs, and blocks the
// calling thread until it returns. Calling it from the executor's own thread
// would wait for itself.
template <typename T>
T RunOn(const Executor& executor, Task<T> task) {
  return asio::co_spawn(executor, std::move(task), asio::use_future).get();
}

}  // namespace capstan
