// Decompresses gzip (RFC 1952).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace capstan {

// Whether the content of a file begins as gzip does.
bool IsGzip(std::string_view content);

// The plain content, at most its first `max` bytes. DataLoss if the compressed
// content is damaged or cut short (behind what was asked for, nobody looks);
// ResourceExhausted if there is not enough memory.
absl::StatusOr<std::string> Gunzip(std::string_view content, size_t max);

}  // namespace capstan
