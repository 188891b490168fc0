#include "train/callback/callback_list.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "absl/strings/str_cat.h"
#include "capstan/error.h"

namespace capstan {

CallbackList::CallbackList(std::vector<CallbackHandle> callbacks,
                           Trainer& trainer, const CallbackParams& params)
    : callbacks_(std::move(callbacks)) {
  for (const CallbackHandle& callback : callbacks_) {
    callback->Attach(&trainer, params);
  }
}

CallbackList::~CallbackList() {
  for (const CallbackHandle& callback : callbacks_) {
    callback->Attach(nullptr, {});
  }
}

void CallbackList::CallOne(const Callback& callback, const char* hook,
                           const std::function<void()>& call) {
  const auto named = [&](std::string_view message) {
    return absl::StrCat("the callback ", callback.Name(), " in ", hook, ": ",
                        std::string(message));
  };
  try {
    call();
  } catch (const Error& error) {
    throw Error(error.code(), named(error.message()), error.task());
  } catch (const std::exception& error) {
    throw Error(ErrorCode::kUnknown, named(error.what()));
  } catch (...) {
    throw Error(ErrorCode::kUnknown,
                named("it has thrown something that is no std::exception"));
  }
}

std::vector<std::pair<std::string, std::string>> CallbackList::States() const {
  std::vector<std::pair<std::string, std::string>> states;
  for (const CallbackHandle& callback : callbacks_) {
    std::string state = callback->State();
    if (!state.empty()) states.emplace_back(callback->Name(), std::move(state));
  }
  return states;
}

void CallbackList::SetStates(
    const std::vector<std::pair<std::string, std::string>>& states) const {
  auto next = states.begin();
  for (const CallbackHandle& callback : callbacks_) {
    const auto found = std::find_if(next, states.end(), [&](const auto& state) {
      return state.first == callback->Name();
    });
    // A new callback has no state; a state may also lack its callback.
    if (found == states.end()) continue;
    CallOne(*callback, "SetState", [&] { callback->SetState(found->second); });
    next = found + 1;
  }
}

}  // namespace capstan
