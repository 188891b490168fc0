// Work that blocks, such as on a disk, done where nobody waits for answers.
#pragma once

#include <asio/post.hpp>
#include <asio/this_coro.hpp>
#include <functional>
#include <memory>
#include <utility>

#include "base/async/task.h"
#include "base/status.h"
#include "server/shard/signal.h"

namespace capstan {

// Runs `work` on `disk`, and goes on with its result on the executor of the
// caller. Without one (an empty `disk`) it runs where it is called.
// The thread of `disk` must be stopped before the caller's context goes.
inline Task<absl::Status> OnDisk(Executor disk,
                                 std::function<absl::Status()> work) {
  if (!disk) co_return work();
  const Executor home = co_await asio::this_coro::executor;
  const auto done = std::make_shared<Signal>(home);
  absl::Status status;
  asio::post(disk, [&status, &work, done] {
    status = work();
    done->Set();
  });
  co_await done->Wait();
  co_return status;
}

}  // namespace capstan
