#pragma once

#include <cstdint>

namespace capstan {

// The bytes of memory that this process occupies now; 0 if the system does not
// report it. Thread-safe.
uint64_t ResidentBytes();

}  // namespace capstan
