// How an error crosses the wire: its code in the frame header, its message and
// the task concerned in the body.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace capstan {

// Fits a handshake frame, and no log line needs more.
inline constexpr size_t kMaxErrorBytes = 8 << 10;

// The body for `status`, which must not be OK. A message of more than `most`
// bytes is truncated.
std::string EncodeErrorBody(const absl::Status& status,
                            size_t most = kMaxErrorBytes);

// The status that `code` and `body` stand for. For a body that cannot be
// parsed, a status of the same code that says so. `code` 0 is OK.
absl::Status DecodeError(uint16_t code, std::string_view body);

}  // namespace capstan
