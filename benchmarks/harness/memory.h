// The memory of a contender: the same kind for all contenders.
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "tensor/buffer.h"

namespace capstan {

// `size` bytes like a tensor's (huge pages if large), already touched.
absl::StatusOr<Buffer> TouchedMemory(uint64_t size);

}  // namespace capstan
