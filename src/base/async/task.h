// How asynchronous code is written here: as coroutines that run on an executor.
//
// An executor stands for one thread (an io_context that one thread runs) or, in
// simulation, for one node. Objects that live on an executor are used from it
// only and need no locks; other threads post to the executor.
#pragma once

#include <asio/any_io_executor.hpp>
#include <asio/awaitable.hpp>

namespace capstan {

using Executor = asio::any_io_executor;

// A coroutine that yields a T. Lazy: it starts when awaited or spawned.
// GCC 12 miscompiles some awaited expressions: keep them to a plain call whose
// arguments are names or std::move(name), with no braces and no temporaries
// that have destructors.
template <typename T = void>
using Task = asio::awaitable<T>;

// Starts `task` on `executor` and detaches it; the task ends when it returns,
// or is destroyed with the executor's context. It must not throw. If called on
// the executor's own thread, runs the task immediately until it first waits or
// ends.
void Spawn(const Executor& executor, Task<> task);

}  // namespace capstan
