#include "transport/context_shutdown.h"

#include <asio/execution.hpp>
#include <asio/execution_context.hpp>
#include <mutex>
#include <utility>

namespace capstan {

class ContextShutdown::Listeners {
 public:
  using Place = std::list<std::function<void()>>::iterator;

  Place Add(std::function<void()> listener) {
    std::lock_guard lock(mutex_);
    return listeners_.insert(listeners_.end(), std::move(listener));
  }

  void Remove(Place place) {
    std::lock_guard lock(mutex_);
    listeners_.erase(place);
  }

  void Call() {
    std::lock_guard lock(mutex_);
    for (const std::function<void()>& listener : listeners_) listener();
  }

 private:
  std::mutex mutex_;
  std::list<std::function<void()>> listeners_;
};

// Created after the context's queue and therefore shut down before it.
class ContextShutdown::Service : public asio::execution_context::service {
 public:
  using key_type = Service;
  static asio::execution_context::id id;

  explicit Service(asio::execution_context& context) : service(context) {}

  const std::shared_ptr<Listeners>& listeners() const { return listeners_; }

 private:
  void shutdown() override { listeners_->Call(); }

  const std::shared_ptr<Listeners> listeners_ = std::make_shared<Listeners>();
};

asio::execution_context::id ContextShutdown::Service::id;

ContextShutdown::ContextShutdown(const Executor& executor,
                                 std::function<void()> on_shutdown)
    : listeners_(asio::use_service<Service>(
                     asio::query(executor, asio::execution::context))
                     .listeners()),
      place_(listeners_->Add(std::move(on_shutdown))) {}

ContextShutdown::~ContextShutdown() { listeners_->Remove(place_); }

}  // namespace capstan
