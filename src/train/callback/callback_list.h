// The callbacks of one call of Fit, Evaluate or Predict.
#pragma once

#include <functional>
#include <vector>

#include "capstan/callback.h"

namespace capstan {

// Not thread-safe.
class CallbackList {
 public:
  // Attaches the callbacks until this object is destroyed.
  CallbackList(std::vector<CallbackHandle> callbacks, Trainer& trainer,
               const CallbackParams& params);
  ~CallbackList();
  CallbackList(const CallbackList&) = delete;
  CallbackList& operator=(const CallbackList&) = delete;

  // Calls a hook of each callback, in order. An exception is rethrown with the
  // names of the callback and the hook in front: an Error with its code, any
  // other exception as kUnknown.
  template <typename... Args>
  void Call(const char* hook, void (Callback::*function)(Args...),
            std::type_identity_t<Args>... args) const {
    for (const CallbackHandle& callback : callbacks_) {
      CallOne(*callback, hook, [&] { ((*callback).*function)(args...); });
    }
  }

  // The names and states of all callbacks that have a state.
  std::vector<std::pair<std::string, std::string>> States() const;
  // Matches states with callbacks by name, in order; skips those without a
  // match.
  void SetStates(
      const std::vector<std::pair<std::string, std::string>>& states) const;

 private:
  static void CallOne(const Callback& callback, const char* hook,
                      const std::function<void()>& call);

  const std::vector<CallbackHandle> callbacks_;
};

}  // namespace capstan
