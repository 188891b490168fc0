#include "worker/pending_call.h"

#include <utility>

#include "base/error.h"

namespace capstan {

PendingCall::PendingCall() noexcept = default;
PendingCall::PendingCall(std::unique_ptr<State> state) noexcept
    : state_(std::move(state)) {}
PendingCall::PendingCall(PendingCall&&) noexcept = default;

PendingCall::~PendingCall() {
  if (state_ != nullptr) state_->end.wait();
}

PendingCall& PendingCall::operator=(PendingCall&& other) noexcept {
  if (this == &other) return *this;
  if (state_ != nullptr) state_->end.wait();
  state_ = std::move(other.state_);
  return *this;
}

void PendingCall::Wait() {
  if (state_ == nullptr) return;
  const std::unique_ptr<State> state = std::move(state_);
  ThrowIfError(state->end.get());
}

}  // namespace capstan
