// The default limit on the memory for a parameter server's variables.
#pragma once

#include <cstdint>

#include "launch/system/machine_facts.h"

namespace capstan {

// For each of `servers` on one machine: an equal part of four fifths of its
// available memory. UINT64_MAX if that is unknown. Pure.
uint64_t ServerMemory(const MachineFacts& facts, int servers);

}  // namespace capstan
