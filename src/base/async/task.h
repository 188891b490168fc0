// How asynchronous code is written here: as coroutines that run on an executor.
//
// An executor stands for one thread (an io_context that one thread runs) or,
// in simulation, for one node. Objects that live on an executor are touched
// from it alone and need no locks; another thread posts to the executor.
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

// Starts `task` on `executor` and lets it run by itself; it ends when it
// returns, or is destroyed with the executor's context. It must not throw.
// Called on the executor's own thread, it runs the task at once up to its first
// wait, which may be its end.
void Spawn(const Executor& executor, Task<> task);

}  // namespace capstan
