// Where in-process connections wait to be accepted.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "absl/status/statusor.h"
#include "base/async/task.h"
#include "base/async/waiter.h"
#include "transport/context_shutdown.h"
#include "transport/inproc/inproc_connection.h"
#include "transport/stream.h"

namespace capstan {

// The queue between the tasks that connect and the one that accepts.
// Thread-safe, except for what is marked as belonging to the acceptor's
// executor.
class InprocBacklog : public std::enable_shared_from_this<InprocBacklog> {
 public:
  // The most connections that may wait: the default limit on Linux.
  static constexpr size_t kMaxWaiting = 4096;

  InprocBacklog(const Executor& executor, std::string address);

  // Queues a connection; false if the backlog is closed or full.
  bool Add(std::shared_ptr<InprocConnection> connection);

  // Waits for the next connection and makes it a stream on `executor`. Call on
  // the acceptor's executor.
  static Task<absl::StatusOr<std::unique_ptr<Stream>>> Next(
      std::shared_ptr<InprocBacklog> self, Executor executor);

  // Closes the waiting connections. Call on the acceptor's executor.
  void Close();

  const std::string& address() const { return address_; }
  bool closed() const;

 private:
  // Takes the first waiting connection; null if there is none.
  std::shared_ptr<InprocConnection> Take();
  // Refuses the waiting connections and all later ones.
  void Shut();

  const std::string address_;
  // Belongs to the acceptor's executor.
  Waiter accepting_;
  uint64_t accepted_ = 0;

  mutable std::mutex mutex_;
  // Guarded by mutex_.
  bool closed_ = false;
  bool wake_posted_ = false;
  std::deque<std::shared_ptr<InprocConnection>> waiting_;

  const ContextShutdown shutdown_;
};

class InprocAcceptor final : public Acceptor {
 public:
  // Calls `on_close` once, when the acceptor is closed.
  InprocAcceptor(std::shared_ptr<InprocBacklog> backlog,
                 std::function<void()> on_close);
  ~InprocAcceptor() override;

  Task<absl::StatusOr<std::unique_ptr<Stream>>> Accept(
      const Executor& executor) override;
  std::string address() const override;
  void Close() override;

 private:
  // Shared with connecting tasks and with an outstanding Accept.
  const std::shared_ptr<InprocBacklog> backlog_;
  std::function<void()> on_close_;
};

}  // namespace capstan
