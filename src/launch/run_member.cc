#include "launch/run_member.h"

#include <asio/signal_set.hpp>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>

#include "base/status.h"

namespace capstan {

int RunMember(MemberTask& task) {
  std::atomic<int> received = 0;
  asio::signal_set signals(task.executor(), SIGTERM, SIGINT);
  signals.async_wait([&](const asio::error_code& error, int number) {
    if (error) return;
    received = number;
    task.Stop();
  });
  const absl::Status status = task.Join();
  if (task.unended() > 0) {
    // The user's functions do not check WorkerContext::Cancelled: there is no
    // other way to end them.
    task.host().logger().Warning(
        "exiting although functions are still running: {}", task.unended());
    std::fflush(nullptr);
    std::_Exit(received != 0 ? 128 + received : (status.ok() ? 0 : 1));
  }
  // The signal wait refers to this frame's variables, so its thread stops
  // first.
  task.StopThreads();
  if (received != 0) {
    task.host().logger().Info("received {}; shutting down",
                              received == SIGTERM ? "SIGTERM" : "SIGINT");
    return 128 + received;
  }
  if (status.ok()) return 0;
  task.host().logger().Error("{}", Describe(status));
  return 1;
}

}  // namespace capstan
