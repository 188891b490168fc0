#include "capstan/callback.h"

#include <typeinfo>

#include "absl/strings/str_cat.h"
#include "capstan/error.h"
#include "capstan/function.h"

namespace capstan {

Callback::Callback() = default;
Callback::~Callback() = default;
// A copy has the settings but is not attached to a trainer.
Callback::Callback(const Callback& /*other*/) {}
// NOLINTNEXTLINE(bugprone-unhandled-self-assignment): nothing is assigned.
Callback& Callback::operator=(const Callback& /*other*/) { return *this; }

std::string Callback::Name() const { return NameOfType(typeid(*this)); }

void Callback::OnTrainBegin(Logs& /*logs*/) {}
void Callback::OnTrainEnd(Logs& /*logs*/) {}
void Callback::OnEpochBegin(int /*epoch*/, Logs& /*logs*/) {}
void Callback::OnEpochEnd(int /*epoch*/, Logs& /*logs*/) {}
void Callback::OnTrainBatchBegin(int64_t /*batch*/, Logs& /*logs*/) {}
void Callback::OnTrainBatchEnd(int64_t /*batch*/, Logs& /*logs*/) {}
void Callback::OnTestBegin(Logs& /*logs*/) {}
void Callback::OnTestEnd(Logs& /*logs*/) {}
void Callback::OnTestBatchBegin(int64_t /*batch*/, Logs& /*logs*/) {}
void Callback::OnTestBatchEnd(int64_t /*batch*/, Logs& /*logs*/) {}
void Callback::OnPredictBegin(Logs& /*logs*/) {}
void Callback::OnPredictEnd(Logs& /*logs*/) {}
void Callback::OnPredictBatchBegin(int64_t /*batch*/, Logs& /*logs*/) {}
void Callback::OnPredictBatchEnd(int64_t /*batch*/, Logs& /*logs*/) {}

std::string Callback::State() const { return ""; }
void Callback::SetState(const std::string&) {}

void Callback::Attach(Trainer* trainer, const CallbackParams& params) {
  trainer_ = trainer;
  params_ = params;
}

Trainer& Callback::trainer() const {
  if (trainer_ != nullptr) return *trainer_;
  throw Error(ErrorCode::kFailedPrecondition,
              absl::StrCat("the callback ", Name(),
                           " has a trainer in its hooks only"));
}

}  // namespace capstan
