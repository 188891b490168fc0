// Notifies an object that the execution context it lives on is being destroyed.
//
// An object that other threads wake by posting to its executor needs this,
// because a post to a context that is being destroyed is a race. The callback
// runs before the context destroys its queue and coroutines, so an object that
// uses it to make itself unreachable to other threads is safe.
#pragma once

#include <functional>
#include <list>
#include <memory>

#include "base/async/task.h"

namespace capstan {

class ContextShutdown {
 public:
  // Calls `on_shutdown` when the context of `executor` is destroyed, unless
  // this object is destroyed first. Both may happen on any thread; they exclude
  // each other.
  ContextShutdown(const Executor& executor, std::function<void()> on_shutdown);
  ~ContextShutdown();
  ContextShutdown(const ContextShutdown&) = delete;
  ContextShutdown& operator=(const ContextShutdown&) = delete;

 private:
  class Listeners;
  class Service;

  // Shared with the context, which may be destroyed before this object.
  const std::shared_ptr<Listeners> listeners_;
  std::list<std::function<void()>>::iterator place_;
};

}  // namespace capstan
