// Runs blocking work, such as disk I/O, on a thread that serves no requests.
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

// Runs `work` on `disk` and resumes with its result on the executor of the
// caller. If `disk` is empty, runs `work` where it is called. The thread of
// `disk` must be stopped before the caller's context is destroyed.
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
