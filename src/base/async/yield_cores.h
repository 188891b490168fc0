// For threads whose work has lower priority than that of others.
#pragma once

namespace capstan {

// Lowers the priority of this thread, and of the threads that it starts, to
// nice 19: when competing for a core it gets about a tenth of what another
// thread gets, but all of a core that is free. Cannot be undone. Does nothing
// on systems without per-thread niceness.
void YieldCores();

}  // namespace capstan
