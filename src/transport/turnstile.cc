#include "transport/turnstile.h"

namespace capstan {

Turnstile::Passage::Passage(Turnstile& turnstile, CallState& state,
                            uint64_t bytes)
    : turnstile_(turnstile), state_(state), bytes_(bytes) {
  place_ = turnstile_.waiting_.insert(turnstile_.waiting_.end(), this);
  turnstile_.Grant();
}

Turnstile::Passage::~Passage() {
  if (granted_) {
    turnstile_.used_ -= bytes_;
  } else {
    turnstile_.waiting_.erase(place_);
  }
  // Either may be what the next call in line was waiting for.
  turnstile_.Grant();
}

void Turnstile::Grant() {
  while (!waiting_.empty()) {
    Passage& first = *waiting_.front();
    const bool fits = used_ == 0 || (first.bytes_ <= limit_ &&
                                     used_ <= limit_ - first.bytes_);
    if (!fits) return;
    used_ += first.bytes_;
    first.granted_ = true;
    waiting_.pop_front();
    first.state_.Wake();
  }
}

void Turnstile::EndAll(const absl::Status& status) {
  const std::list<Passage*> waiting = waiting_;
  for (Passage* passage : waiting) passage->state_.End(status);
}

}  // namespace capstan
