// What a step waits for, for status reports.
#pragma once

#include <list>
#include <string>
#include <utility>

#include "worker/step.h"

namespace capstan {

// Reports that the step waits for `what` while this object lives.
class Step::Wait {
 public:
  Wait(Step& step, std::string what)
      : step_(step), what_(std::move(what)), since_(step.clock_.Now()) {
    place_ = step_.waits_.insert(step_.waits_.end(), this);
  }
  ~Wait() { step_.waits_.erase(place_); }
  Wait(const Wait&) = delete;
  Wait& operator=(const Wait&) = delete;

  const std::string& what() const { return what_; }
  MonotonicTime since() const { return since_; }

 private:
  Step& step_;
  const std::string what_;
  const MonotonicTime since_;
  std::list<const Wait*>::iterator place_;
};

}  // namespace capstan
