// Free memory that is really there. A virtual machine may return free memory to
// its host after two seconds (free page reporting), and getting a page back
// takes 20 times as long as clearing it: whoever comes first pays, and no two
// figures are alike.
#pragma once

#include "tensor/buffer.h"

namespace capstan::bench {

// Touched memory, as much as a save needs, with the page cache. Free it right
// before timing something, which then gets this memory. Throws
// kResourceExhausted.
Buffer ReserveMemory();

}  // namespace capstan::bench
