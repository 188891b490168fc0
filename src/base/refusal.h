// The one error that tells a dead process from a silent one: the machine
// answers, but nobody listens at the address. The mark survives WithTask and
// WithContext.
// Thread-safe: pure functions.
#pragma once

#include <string_view>

#include "absl/status/status.h"

namespace capstan {

// Unavailable, marked as a refusal.
absl::Status Refusal(std::string_view message);

bool IsRefusal(const absl::Status& status);

}  // namespace capstan
