// For threads whose work is behind that of others.
#pragma once

namespace capstan {

// From now on this thread, and those that it starts, get a tenth of what
// another thread gets of a core that both want (nice 19); all of one that is
// free. Cannot be taken back. Does nothing where the system has no such thing.
void YieldCores();

}  // namespace capstan
