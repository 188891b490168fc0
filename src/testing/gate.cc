#include "testing/gate.h"

#include <asio/post.hpp>

namespace capstan::testing {

// One waiting coroutine. Lives in the coroutine's frame, so it disappears when
// the coroutine is destroyed while waiting.
class Gate::Place {
 public:
  Place(Gate& gate, const Executor& executor)
      : gate_(gate), executor_(executor), event_(executor) {
    std::lock_guard lock(gate_.mutex_);
    number_ = gate_.next_++;
    gate_.places_[number_] = this;
    if (gate_.open_) event_.Set();
  }

  ~Place() {
    std::lock_guard lock(gate_.mutex_);
    gate_.places_.erase(number_);
  }

  Event& event() { return event_; }
  const Executor& executor() const { return executor_; }

 private:
  Gate& gate_;
  Executor executor_;
  Event event_;
  uint64_t number_ = 0;
};

Task<> Gate::Pass(Executor executor) {
  Place place(*this, executor);
  co_await place.event().Wait();
}

void Gate::Open() {
  std::lock_guard lock(mutex_);
  open_ = true;
  for (const auto& [number, place] : places_) {
    // The handler looks the place up again: it may be gone by then.
    asio::post(place->executor(), [this, number = number] {
      Event* event = nullptr;
      {
        std::lock_guard relock(mutex_);
        const auto found = places_.find(number);
        if (found == places_.end()) return;
        event = &found->second->event();
      }
      event->Set();
    });
  }
}

size_t Gate::waiting() const {
  std::lock_guard lock(mutex_);
  return places_.size();
}

}  // namespace capstan::testing
