// The callbacks of one call of Fit, Evaluate or Predict.
#pragma once

#include <functional>
#include <vector>

#include "capstan/callback.h"

namespace capstan {

// Not thread-safe.
class CallbackList {
 public:
  // Attaches them, until its end.
  CallbackList(std::vector<CallbackHandle> callbacks, Trainer& trainer,
               const CallbackParams& params);
  ~CallbackList();
  CallbackList(const CallbackList&) = delete;
  CallbackList& operator=(const CallbackList&) = delete;

  // Calls a hook of each, in their order. What one throws is thrown with its
  // name and that of the hook in front: an Error with its code, any other
  // exception as kUnknown.
  template <typename... Args>
  void Call(const char* hook, void (Callback::*function)(Args...),
            std::type_identity_t<Args>... args) const {
    for (const CallbackHandle& callback : callbacks_) {
      CallOne(*callback, hook, [&] { ((*callback).*function)(args...); });
    }
  }

  // Names and states, of all that have one.
  std::vector<std::pair<std::string, std::string>> States() const;
  // In the same order, of those of the same names; others are left out.
  void SetStates(
      const std::vector<std::pair<std::string, std::string>>& states) const;

 private:
  static void CallOne(const Callback& callback, const char* hook,
                      const std::function<void()>& call);

  const std::vector<CallbackHandle> callbacks_;
};

}  // namespace capstan
