#include "launch/system/server_memory.h"

#include <algorithm>

namespace capstan {

uint64_t ServerMemory(const MachineFacts& facts, int servers) {
  if (!facts.memory_bytes) return UINT64_MAX;
  return *facts.memory_bytes / 5 * 4 /
         static_cast<uint64_t>(std::max(1, servers));
}

}  // namespace capstan
