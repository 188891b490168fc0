#include "launch/system/resident_memory.h"

#include <unistd.h>

#include <fstream>

namespace capstan {

uint64_t ResidentBytes() {
  std::ifstream file("/proc/self/statm");
  uint64_t total = 0;
  uint64_t resident = 0;
  if (!(file >> total >> resident)) return 0;
  return resident * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
}

}  // namespace capstan
