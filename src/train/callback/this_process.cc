#include "train/callback/this_process.h"

#include <unistd.h>

#include <array>

namespace capstan {

EventFileWriter ThisProcess() {
  std::array<char, 256> host = {};
  if (gethostname(host.data(), host.size() - 1) != 0) host = {"localhost"};
  return {.host = host.data(), .process = getpid()};
}

}  // namespace capstan
