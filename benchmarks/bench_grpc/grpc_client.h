// The calling side of bench_grpc.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "harness/exchange.h"

namespace capstan {

// Connects to ServeGrpc.
absl::StatusOr<std::unique_ptr<Contender>> ConnectGrpc(
    const std::string& address);

}  // namespace capstan
