// The limit: blocking sockets with nothing above them. Both sides know the
// sizes of a series of exchanges before it starts, so there is no header to
// parse: one thread on each side writes its data and reads what it expects,
// straight into its destination. As many bytes go each way as in the program it
// is compared with, including headers.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "harness/exchange.h"

namespace capstan {

// Listens on `address` ("127.0.0.1:0", "unix:/path"), calls ReportReady with
// the address, and serves clients forever, one after another. Returns only if
// something fails.
absl::Status ServeBare(const std::string& address);

// Connects to ServeBare.
absl::StatusOr<std::unique_ptr<Contender>> ConnectBare(
    const std::string& address);

}  // namespace capstan
