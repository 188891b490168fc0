// The one error by which a dead process is told from a silent one: the machine
// answers, and nobody listens at the address. An error that is marked so stays
// marked under WithTask and WithContext.
// Thread-safe: pure functions.
#pragma once

#include <string_view>

#include "absl/status/status.h"

namespace capstan {

// Unavailable, marked.
absl::Status Refusal(std::string_view message);

bool IsRefusal(const absl::Status& status);

}  // namespace capstan
