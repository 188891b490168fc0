// How a caller calls off work that it started.
#pragma once

#include <functional>
#include <list>
#include <utility>

namespace capstan {

// Passed (by pointer) to the operations that it can end. Used from one
// executor; must outlive the operations that were given it.
class Cancellation {
 public:
  Cancellation() = default;
  Cancellation(const Cancellation&) = delete;
  Cancellation& operator=(const Cancellation&) = delete;

  // Ends every operation that listens now, and any that starts later. They
  // return Cancelled. Calls after the first do nothing.
  void Cancel() {
    if (cancelled_) return;
    cancelled_ = true;
    // A listener may remove itself or others, so the list is read anew.
    while (!listeners_.empty()) {
      std::function<void()> listener = std::move(listeners_.front());
      listeners_.pop_front();
      listener();
    }
  }

  bool cancelled() const { return cancelled_; }

  // Calls `listener` at Cancel for as long as this object lives.
  class Registration {
   public:
    Registration(Cancellation* cancellation, std::function<void()> listener)
        : cancellation_(cancellation) {
      if (cancellation_ == nullptr) return;
      place_ = cancellation_->listeners_.insert(cancellation_->listeners_.end(),
                                                std::move(listener));
    }
    ~Registration() {
      // After Cancel the list is empty and the place is gone.
      if (cancellation_ == nullptr || cancellation_->cancelled_) return;
      cancellation_->listeners_.erase(place_);
    }
    Registration(const Registration&) = delete;
    Registration& operator=(const Registration&) = delete;

   private:
    Cancellation* cancellation_;
    std::list<std::function<void()>>::iterator place_;
  };

 private:
  bool cancelled_ = false;
  std::list<std::function<void()>> listeners_;
};

}  // namespace capstan
