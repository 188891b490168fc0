// How much memory the variables of a parameter server may take if nobody says.
#pragma once

#include <cstdint>

#include "launch/system/machine_facts.h"

namespace capstan {

// For each of `servers` on one machine: an equal part of four fifths of what it
// has to spare. UINT64_MAX if that is not known. Pure.
uint64_t ServerMemory(const MachineFacts& facts, int servers);

}  // namespace capstan
