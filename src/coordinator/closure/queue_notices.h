// The callbacks of the queue. Included only by its own files.
#pragma once

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "coordinator/closure/closure_queue.h"

namespace capstan {

// Collects what to call once the lock is released. Declared before the lock, so
// that it is destroyed after it.
class ClosureQueue::Notices {
 public:
  explicit Notices(ClosureQueue& queue) : queue_(queue) {}
  ~Notices() {
    resources.clear();
    // Detach waits for calls that have begun.
    ++queue_.calling_;
    const bool detached = queue_.detached_;
    if (!detached) Call(queue_.options_);
    --queue_.calling_;
    if (!detached) return;
    for (const std::function<void()>& one : then) one();
  }
  Notices(const Notices&) = delete;
  Notices& operator=(const Notices&) = delete;

  // With the lock held: something changed that somebody may be waiting for.
  void Changed() {
    change = true;
    const bool joined = queue_.joining_ > 0 &&
                        (queue_.Failing() || queue_.Over(queue_.join_at_));
    if (queue_.waiting_ > 0 || joined) queue_.changed_.notify_all();
  }
  // With the lock held: there may be something to take.
  void Work() { work |= std::exchange(queue_.hungry_, false); }

  bool cancel_all = false;
  uint64_t cancel_step = 0;
  bool work = false;
  bool change = false;
  std::vector<std::function<void()>> then;
  // Released without the lock: destroying a handle calls other components.
  std::vector<ClosurePtr> released;
  std::vector<std::shared_ptr<const uint64_t>> resources;

 private:
  void Call(const ClosureQueueOptions& options) {
    if (cancel_all && options.on_cancel_all) options.on_cancel_all();
    if (cancel_step != 0 && options.on_cancel) options.on_cancel(cancel_step);
    if (work && options.on_work) options.on_work();
    for (std::function<void()>& one : then) {
      if (options.on_then) options.on_then(std::move(one));
    }
    if (change && options.on_change) options.on_change();
  }

  ClosureQueue& queue_;
};

}  // namespace capstan
