#include "bench_checkpoint/warm_memory.h"

#include "base/error.h"
#include "bench_checkpoint/workload.h"
#include "harness/memory.h"

namespace capstan::bench {

Buffer ReserveMemory() {
  // A second version of the state, its files, and half as much again to spare.
  return ValueOrThrow(TouchedMemory(3 * kStateBytes));
}

}  // namespace capstan::bench
