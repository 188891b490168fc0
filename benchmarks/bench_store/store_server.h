// The answering side of bench_store: a parameter server with nothing around it.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "wire/hello.h"

namespace capstan {

// The hello of either side.
Hello StoreHello(std::string_view role);

// Serves on TCP at `address` with `threads` threads, calls ReportReady with the
// address, and runs forever. Returns only if something fails.
absl::Status ServeStore(const std::string& address, int threads);

}  // namespace capstan
