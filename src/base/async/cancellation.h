// How a caller cancels work that it started.
#pragma once

#include <functional>
#include <list>
#include <utility>

namespace capstan {

// Passed by pointer to the operations that it can cancel. Used from one
// executor. Must outlive the operations that it was passed to, except those
// that are destroyed together with their executor, in any order.
class Cancellation {
 public:
  Cancellation() = default;
  ~Cancellation() {
    for (Listener& listener : listeners_) listener.owner->Forget();
  }
  Cancellation(const Cancellation&) = delete;
  Cancellation& operator=(const Cancellation&) = delete;

  // Ends every operation that is listening now and any that starts later. They
  // return Cancelled. Calls after the first do nothing.
  void Cancel() {
    if (cancelled_) return;
    cancelled_ = true;
    // A listener may remove itself or others, so take the front each time.
    while (!listeners_.empty()) {
      Listener listener = std::move(listeners_.front());
      listeners_.pop_front();
      listener.owner->Forget();
      listener.call();
    }
  }

  bool cancelled() const { return cancelled_; }

  class Registration;
  struct Listener {
    Registration* owner;
    std::function<void()> call;
  };

  // Calls `listener` on Cancel for as long as this object lives.
  class Registration {
   public:
    Registration(Cancellation* cancellation, std::function<void()> listener)
        : cancellation_(cancellation) {
      if (cancellation_ == nullptr) return;
      place_ = cancellation_->listeners_.insert(
          cancellation_->listeners_.end(), Listener{this, std::move(listener)});
    }
    ~Registration() {
      if (cancellation_ != nullptr) cancellation_->listeners_.erase(place_);
    }
    Registration(const Registration&) = delete;
    Registration& operator=(const Registration&) = delete;

   private:
    friend class Cancellation;
    // Cancel has already removed the listener from the list.
    void Forget() { cancellation_ = nullptr; }

    Cancellation* cancellation_;
    std::list<Listener>::iterator place_;
  };

 private:
  bool cancelled_ = false;
  std::list<Listener> listeners_;
};

}  // namespace capstan
