#include "harness/memory.h"

#include <cstring>

namespace capstan {

absl::StatusOr<Buffer> TouchedMemory(uint64_t size) {
  absl::StatusOr<Buffer> memory = Buffer::Allocate(size, Fill::kNone);
  if (memory.ok()) std::memset(memory->data(), 1, memory->size());
  return memory;
}

}  // namespace capstan
