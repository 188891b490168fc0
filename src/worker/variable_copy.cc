#include "worker/variable_copy.h"

#include <utility>

namespace capstan {

VariableCopy::VariableCopy(std::string variable, MutableTensorView memory)
    : state_(std::make_unique<State>(State{std::move(variable), memory})) {}
VariableCopy::~VariableCopy() = default;
VariableCopy::VariableCopy(VariableCopy&&) noexcept = default;
VariableCopy& VariableCopy::operator=(VariableCopy&&) noexcept = default;

const std::string& VariableCopy::variable() const noexcept {
  return state_->variable;
}

const MutableTensorView& VariableCopy::memory() const noexcept {
  return state_->memory;
}

void VariableCopy::Forget() noexcept { state_->versions = {}; }

}  // namespace capstan
