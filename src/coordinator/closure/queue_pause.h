// Pauses the queue for operations during which nothing may run.
#pragma once

#include <chrono>
#include <memory>
#include <utility>

#include "base/async/clock.h"
#include "coordinator/closure/closure_queue.h"

namespace capstan {

// How long running functions may take to end.
inline constexpr Duration kDrainTimeout = std::chrono::minutes(30);

// Holds the queue. Shared by everything that needs it held.
class QueuePause {
 public:
  explicit QueuePause(std::shared_ptr<ClosureQueue> queue)
      : queue_(std::move(queue)) {
    queue_->Hold();
  }
  ~QueuePause() { queue_->Release(); }
  QueuePause(const QueuePause&) = delete;
  QueuePause& operator=(const QueuePause&) = delete;

 private:
  const std::shared_ptr<ClosureQueue> queue_;
};

}  // namespace capstan
