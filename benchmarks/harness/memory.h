// The memory of a contender: the same kind for all that are compared.
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "tensor/buffer.h"

namespace capstan {

// `size` bytes as tensors have them (huge pages, if large), touched.
absl::StatusOr<Buffer> TouchedMemory(uint64_t size);

}  // namespace capstan
