// Measures gRPC with raw byte buffers beside bare sockets: the numbers of
// docs/decisions/001-own-wire.md.
//
//   bench_grpc --json FILE [--transports tcp,unix] [--rounds 9]
//
// The exchanges are those of bench_wire (harness/exchange.h): two processes,
// request and reply, a reply copied to its destination.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "bench_grpc/grpc_client.h"
#include "bench_grpc/grpc_server.h"
#include "harness/bare_socket.h"
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

absl::Status Run(const std::vector<std::string>& transports, int rounds,
                 const std::string& command, const std::string& json) {
  absl::StatusOr<ScratchDirectory> scratch = ScratchDirectory::Create();
  if (!scratch.ok()) return scratch.status();
  Report report(command, rounds);
  for (const std::string& transport : transports) {
    CAPSTAN_RETURN_IF_ERROR(Measure(*scratch, transport, rounds, report));
  }
  return report.Write(json);
}

int Main(int argc, char** argv) {
  CLI::App app("gRPC beside bare sockets");
  std::string json;
  std::vector<std::string> transports = {"tcp", "unix"};
  int rounds = 9;
  std::string address;
  app.add_option("--json", json, "where to write the figures");
  app.add_option("--transports", transports)
      ->delimiter(',')
      ->check(CLI::IsMember({"tcp", "unix"}));
  app.add_option("--rounds", rounds)->check(CLI::Range(1, 1000));
  // What the children are told; an empty group name hides them from --help.
  auto* serve = app.add_subcommand("serve")->group("");
  serve->add_option("address", address)->required();
  auto* serve_bare = app.add_subcommand("serve-bare")->group("");
  serve_bare->add_option("address", address)->required();
  CLI11_PARSE(app, argc, argv);

  absl::Status status;
  if (serve->parsed()) {
    status = ServeGrpc(address);
  } else if (serve_bare->parsed()) {
    status = ServeBare(address);
  } else if (json.empty()) {
    status = absl::InvalidArgumentError("--json FILE is required");
  } else {
    std::vector<std::string> arguments(argv, argv + argc);
    status = Run(transports, rounds,
                 fmt::format("{}", fmt::join(arguments, " ")), json);
  }
  if (status.ok()) return 0;
  fmt::print(stderr, "bench_grpc: {}\n", Describe(status));
  return 1;
}

}  // namespace
}  // namespace capstan

int main(int argc, char** argv) { return capstan::Main(argc, argv); }
