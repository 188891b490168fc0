// The limit: blocking sockets with nothing above them. Both sides know the
// sizes of a series of exchanges before it starts, so that there is no header
// to look at: one thread on each side writes what it has and reads what it
// expects, straight into its destination. The same number of bytes goes each
// way as for the program that it is compared with, heads included.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "harness/exchange.h"

namespace capstan {

// Listens on `address` ("127.0.0.1:0", "unix:/path"), calls ReportReady with
// the address, and serves one client after the other for ever. Returns only if
// something fails.
absl::Status ServeBare(const std::string& address);

// Connects to ServeBare.
absl::StatusOr<std::unique_ptr<Contender>> ConnectBare(
    const std::string& address);

}  // namespace capstan
