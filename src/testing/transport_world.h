// Where the two sides of a connection run, for tests that are written once and
// run over every transport. A test's body is plain code on the main thread; it
// passes coroutines to the sides and waits for them here. Test-only.
#pragma once

#include <asio/post.hpp>
#include <asio/use_future.hpp>
#include <chrono>
#include <functional>
#include <future>
#include <string>
#include <utility>
#include <vector>

#include "base/async/clock.h"
#include "base/async/run_on.h"
#include "base/async/task.h"
#include "transport/stream.h"

namespace capstan::testing {

enum class Side { kServer, kClient };

// Used from the main thread only.
class TransportWorld {
 public:
  // Ends everything still running on the executors. Objects that those
  // coroutines point to (channels, servers, services) must outlive the world or
  // have been removed from it.
  virtual ~TransportWorld() = default;

  virtual Clock& clock(Side side) = 0;
  virtual Network& network(Side side) = 0;
  // At least one executor.
  virtual std::vector<Executor> executors(Side side) = 0;
  // An unused address to listen on.
  virtual std::string NewAddress() = 0;
  // Whether time is simulated, so that waiting costs nothing.
  virtual bool simulated() const { return false; }

  // Runs the sides until `done`, which is polled on the main thread. Returns
  // false if that takes longer than any test should.
  [[nodiscard]] virtual bool RunUntil(const std::function<bool()>& done) = 0;

  // Ends the server's side as kill -9 would: its coroutines are destroyed where
  // they are. Afterwards executors(kServer) returns new ones.
  virtual void CrashServer() = 0;

  Executor executor(Side side) { return executors(side).front(); }

  // Runs `task` on `executor` to completion.
  template <typename T>
  T Run(const Executor& executor, Task<T> task) {
    return Await(StartOn(executor, std::move(task)));
  }

  // Calls `function` on `executor` and returns what it returned.
  template <typename Function>
  auto RunFunction(const Executor& executor, Function function) {
    return Await(asio::post(executor, asio::use_future(std::move(function))));
  }

  // Waits for `future`. Throws, which fails the test, if it takes too long.
  template <typename T>
  T Await(std::future<T> future) {
    MustRunUntil([&future] {
      return future.wait_for(std::chrono::seconds(0)) ==
             std::future_status::ready;
    });
    return future.get();
  }

  // As RunUntil, but throws.
  void MustRunUntil(const std::function<bool()>& done);
};

}  // namespace capstan::testing
