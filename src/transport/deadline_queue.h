// Calls back when deadlines pass; many deadlines share one timer.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <utility>

#include "base/async/clock.h"
#include "base/async/task.h"

namespace capstan {

// Lives on one executor. Adding and removing cost no system call unless the new
// deadline is earlier than all others, which never happens if all timeouts are
// equal.
class DeadlineQueue {
 public:
  // `clock` must outlive the queue.
  DeadlineQueue(Clock& clock, const Executor& executor);
  // Drops all entries without calling them.
  ~DeadlineQueue();
  DeadlineQueue(const DeadlineQueue&) = delete;
  DeadlineQueue& operator=(const DeadlineQueue&) = delete;

  using Key = std::pair<MonotonicTime, uint64_t>;

  // Calls `expired` once, at `time` or soon after, unless it is removed first.
  Key Add(MonotonicTime time, std::function<void()> expired);
  void Remove(const Key& key);

  // An entry that is removed when this object is destroyed.
  class Registration {
   public:
    Registration(DeadlineQueue& queue, MonotonicTime time,
                 std::function<void()> expired)
        : queue_(queue), expired_(std::move(expired)) {
      Postpone(time);
    }
    ~Registration() { queue_.Remove(key_); }
    Registration(const Registration&) = delete;
    Registration& operator=(const Registration&) = delete;

    // Schedules another call of `expired`. Only from inside `expired` or after
    // it was called.
    void Postpone(MonotonicTime time) {
      key_ = queue_.Add(time, [this] { expired_(); });
    }

   private:
    DeadlineQueue& queue_;
    const std::function<void()> expired_;
    Key key_;
  };

 private:
  // Shared with the sleeping coroutine, which may outlive the queue.
  struct State {
    std::unique_ptr<Timer> timer;
    std::map<Key, std::function<void()>> entries;
    MonotonicTime armed = kNever;  // when the sleeper will wake
    uint64_t next = 0;
    bool stopped = false;
  };
  static Task<> Run(std::shared_ptr<State> state, Clock& clock);

  Clock& clock_;
  const Executor executor_;
  std::shared_ptr<State> state_;
  bool running_ = false;
};

}  // namespace capstan
