#include "base/async/waiter.h"

#include <asio/execution.hpp>
#include <asio/post.hpp>
#include <cassert>
#include <utility>

namespace capstan {

// The sleepers of one execution context, as an Asio service, so that destroying
// the context destroys them.
class PendingWaiters : public asio::execution_context::service {
 public:
  using key_type = PendingWaiters;
  static asio::execution_context::id id;

  explicit PendingWaiters(asio::execution_context& context)
      : service(context) {}

  void Add(Waiter& waiter) {
    waiter.previous_ = nullptr;
    waiter.next_ = first_;
    if (first_ != nullptr) first_->previous_ = &waiter;
    first_ = &waiter;
  }

  void Remove(Waiter& waiter) {
    if (waiter.previous_ != nullptr) waiter.previous_->next_ = waiter.next_;
    if (waiter.next_ != nullptr) waiter.next_->previous_ = waiter.previous_;
    if (first_ == &waiter) first_ = waiter.next_;
    waiter.previous_ = waiter.next_ = nullptr;
  }

  // True once the context is being destroyed: what is posted then may outlive
  // the services that it uses.
  bool closed() const { return closed_; }

 private:
  void shutdown() override {
    closed_ = true;
    // Destroying one sleeper may destroy others, or the Waiter itself, so take
    // the front of the list each time; Take moves the handler out first.
    while (first_ != nullptr) first_->Take();
  }

  Waiter* first_ = nullptr;
  bool closed_ = false;
};

asio::execution_context::id PendingWaiters::id;

// A sleeper on its way through the executor's queue. Has no associated
// executor, so that Asio does not dispatch it again once it runs there.
struct Waiter::Resume {
  explicit Resume(Handler&& sleeper) : handler(std::move(sleeper)) {}
  void operator()() { std::move(handler)(); }
  Handler handler;
};

Waiter::Waiter(const Executor& executor)
    : executor_(executor),
      pending_(asio::use_service<PendingWaiters>(
          asio::query(executor, asio::execution::context))) {}

Waiter::~Waiter() { Take(); }

Task<> Waiter::Sleep() {
  return asio::async_initiate<const asio::use_awaitable_t<>&, void()>(
      [this](Handler handler) { Store(std::move(handler)); },
      asio::use_awaitable);
}

bool Waiter::Wake() {
  std::optional<Handler> handler = Take();
  if (!handler) return false;
  if (!pending_.closed()) {
    Resume resume(std::move(*handler));
    asio::post(executor_, std::move(resume));
  }
  return true;
}

bool Waiter::WakeNow() {
  std::optional<Handler> handler = Take();
  if (!handler) return false;
  if (!pending_.closed()) std::move (*handler)();
  return true;
}

void Waiter::Store(Handler&& handler) {
  assert(!handler_ && "two coroutines sleep in one Waiter");
  handler_.emplace(std::move(handler));
  pending_.Add(*this);
}

std::optional<Waiter::Handler> Waiter::Take() {
  std::optional<Handler> handler;
  if (handler_) {
    pending_.Remove(*this);
    handler.emplace(std::move(*handler_));
    handler_.reset();
  }
  return handler;
}

}  // namespace capstan
