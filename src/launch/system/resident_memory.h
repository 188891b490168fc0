#pragma once

#include <cstdint>

namespace capstan {

// The bytes of memory that this process occupies now; 0 if the system does not
// say. Thread-safe.
uint64_t ResidentBytes();

}  // namespace capstan
