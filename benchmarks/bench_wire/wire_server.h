// The answering side of bench_wire: a Server with a ProbeService, on an I/O
// thread per core, as in production.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "base/async/clock.h"
#include "transport/stream.h"
#include "wire/hello.h"

namespace capstan {

// The hello of a process of the benchmark.
Hello BenchHello(std::string_view role);

// Listens on `address`, calls ReportReady with the address, and serves until
// the process is killed. Returns only if something fails.
absl::Status ServeWire(Clock& clock, Network& network,
                       const std::string& address);

}  // namespace capstan
