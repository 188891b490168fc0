#include "transport/deadline_queue.h"

namespace capstan {

DeadlineQueue::DeadlineQueue(Clock& clock, const Executor& executor)
    : clock_(clock), executor_(executor), state_(std::make_shared<State>()) {
  state_->timer = clock.NewTimer(executor);
}

DeadlineQueue::~DeadlineQueue() {
  state_->stopped = true;
  state_->entries.clear();
  if (running_) state_->timer->Cancel();
}

DeadlineQueue::Key DeadlineQueue::Add(MonotonicTime time,
                                      std::function<void()> expired) {
  const Key key(time, state_->next++);
  state_->entries.emplace(key, std::move(expired));
  if (!running_) {
    running_ = true;
    Spawn(executor_, Run(state_, clock_));
  } else if (time < state_->armed) {
    state_->timer->Cancel();
  }
  return key;
}

void DeadlineQueue::Remove(const Key& key) { state_->entries.erase(key); }

Task<> DeadlineQueue::Run(std::shared_ptr<State> state, Clock& clock) {
  while (!state->stopped) {
    const MonotonicTime now = clock.Now();
    while (!state->entries.empty() &&
           state->entries.begin()->first.first <= now) {
      auto entry = state->entries.extract(state->entries.begin());
      entry.mapped()();
      if (state->stopped) co_return;
    }
    state->armed =
        state->entries.empty() ? kNever : state->entries.begin()->first.first;
    co_await state->timer->SleepUntil(state->armed);
  }
}

}  // namespace capstan
