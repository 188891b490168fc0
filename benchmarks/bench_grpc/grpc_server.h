// The answering side of bench_grpc: raw byte buffers through gRPC's generic
// asynchronous service, its fastest mode (no protobuf, one polling thread).
#pragma once

#include <string>

#include "absl/status/status.h"

namespace capstan {

// The methods of the benchmark; a pull's request is the size, as 8 bytes.
inline constexpr char kGrpcEcho[] = "/bench/Echo";
inline constexpr char kGrpcPull[] = "/bench/Pull";
inline constexpr char kGrpcPush[] = "/bench/Push";

// Listens on `address`, calls ReportReady with the address, and serves forever.
// Returns only if something fails.
absl::Status ServeGrpc(const std::string& address);

}  // namespace capstan
