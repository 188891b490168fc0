// Free memory that is really there. A virtual machine may give what is free
// back to its host after two seconds (free page reporting), and to get a page
// again then takes 20 times as long as to clear it: whoever happens to come
// first pays, and no two figures are alike.
#pragma once

#include "tensor/buffer.h"

namespace capstan::bench {

// Memory that was touched, as much as a save needs, with the page cache. Freed
// right before something is timed, it is what that finds. Throws
// kResourceExhausted.
Buffer ReserveMemory();

}  // namespace capstan::bench
