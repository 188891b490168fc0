// Measures gRPC with raw byte buffers next to bare sockets: the numbers of
// docs/decisions/001-own-wire.md.
//
//   bench_grpc --json FILE [--transports tcp,unix] [--rounds 9]
//
// The exchanges are those of bench_wire (harness/exchange.h): two processes,
// request and reply, a reply copied to its destination.
#include <memory>
#include <string>

#include "base/status.h"
#include "bench_grpc/grpc_client.h"
#include "bench_grpc/grpc_server.h"
#include "harness/bare_socket.h"
#include "harness/bench_program.h"
#include "harness/measure.h"
#include "harness/report.h"
#include "harness/running_server.h"

namespace capstan {
namespace {

absl::Status Measure(const ScratchDirectory& scratch,
                     const std::string& transport, int rounds, Report& report) {
  absl::StatusOr<RunningServer> server =
      StartServer({"serve", scratch.AddressFor(transport, "grpc")});
  if (!server.ok()) return server.status();
  absl::StatusOr<RunningServer> bare_server =
      StartServer({"serve-bare", scratch.AddressFor(transport, "bare")});
  if (!bare_server.ok()) return bare_server.status();
  absl::StatusOr<std::unique_ptr<Contender>> ours =
      ConnectGrpc(server->address);
  if (!ours.ok()) return ours.status();
  absl::StatusOr<std::unique_ptr<Contender>> bare =
      ConnectBare(bare_server->address);
  if (!bare.ok()) return bare.status();
  report.PrintHeader(transport, "gRPC");
  return MeasureExchanges(transport, **ours, **bare, rounds, report);
}

absl::Status MeasureAll(const BenchProgram::Words& transports, int rounds,
                        Report& report) {
  absl::StatusOr<ScratchDirectory> scratch = ScratchDirectory::Create();
  if (!scratch.ok()) return scratch.status();
  for (const std::string& transport : transports) {
    CAPSTAN_RETURN_IF_ERROR(Measure(*scratch, transport, rounds, report));
  }
  return absl::OkStatus();
}

int Main(int argc, char** argv) {
  using Words = BenchProgram::Words;
  BenchProgram program("bench_grpc", "gRPC beside bare sockets",
                       {"tcp", "unix"}, 9, "--transports");
  program.AddChild("serve", {"address"},
                   [](const Words& words) { return ServeGrpc(words[0]); });
  program.AddChild("serve-bare", {"address"},
                   [](const Words& words) { return ServeBare(words[0]); });
  return program.Run(argc, argv, MeasureAll);
}

}  // namespace
}  // namespace capstan

int main(int argc, char** argv) { return capstan::Main(argc, argv); }
