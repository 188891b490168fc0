// How fast is a parameter server, and how close to what the machine can do?
//
//   bench_store --json FILE [--only dense,rows,...] [--rounds 9]
//
// Each figure is the median of so many rounds, in each of which ours and its
// reference are timed one right after the other. Server and client are two
// processes that talk over TCP on one machine, where not said otherwise.
//   dense    dense_pull_ratio, dense_push_ratio (SGD) of 64 MiB, _1m_ of 1 MiB:
//            our GB/s / that of bare sockets of the same shape;
//            small_pull_rtt_ratio, small_push_rtt_ratio: our time for 4 KiB /
//            theirs
//   small    many_small_ratio: the time for 1,000 variables of 4 KiB / for one
//            of 4 MB
//   rows     gather_ratio, scatter_ratio (Adagrad), scatter_sgd_ratio: our
//            rows/s / that of a gather with prefetching by one thread in this
//            process; batches of 13,312 random ids of a table of 4,000,000 x
//            16; ..._pipelined_ratio with four batches at once;
//            small_table_...: a table of 100,000 rows
//   kernels  kernel_bandwidth_ratio.X: bytes/s of optimizer X's dense update /
//            the best of four loops that only move memory; one thread
//   threads  threads_2_over_1: updates/s with two server threads / with one,
//            in one process
//   balance  balance_max_over_mean: bytes on the busiest of 4 servers / the
//            mean, for one variable of 100 MB and 50 small ones
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/async/real_clock.h"
#include "base/status.h"
#include "bench_store/experiments.h"
#include "bench_store/store_client.h"
#include "bench_store/store_server.h"
#include "harness/bare_socket.h"
#include "harness/report.h"
#include "harness/running_server.h"
#include "transport/tcp/tcp_network.h"

namespace capstan {
namespace {

constexpr char kAddress[] = "127.0.0.1:0";

// The experiments that need a server process.
absl::Status RunServed(const std::vector<std::string>& only, int rounds,
                       Report& report) {
  const auto wanted = [&](const char* name) {
    return std::find(only.begin(), only.end(), name) != only.end();
  };
  if (!wanted("dense") && !wanted("small") && !wanted("rows")) {
    return absl::OkStatus();
  }
  absl::StatusOr<RunningServer> server = StartServer({"serve", kAddress});
  if (!server.ok()) return server.status();
  RealClock clock;
  TcpNetwork network(clock);
  StoreClient client(clock, network, server->address);
  if (wanted("dense")) {
    absl::StatusOr<RunningServer> bare_server =
        StartServer({"serve-bare", kAddress});
    if (!bare_server.ok()) return bare_server.status();
    absl::StatusOr<std::unique_ptr<Contender>> bare =
        ConnectBare(bare_server->address);
    if (!bare.ok()) return bare.status();
    report.PrintHeader("dense, beside bare sockets", "Capstan");
    CAPSTAN_RETURN_IF_ERROR(MeasureDense(client, **bare, rounds, report));
  }
  if (wanted("small")) {
    report.PrintHeader("many small variables, and one large", "small");
    CAPSTAN_RETURN_IF_ERROR(MeasureManySmall(client, rounds, report));
  }
  if (wanted("rows")) {
    CAPSTAN_RETURN_IF_ERROR(MeasureRows(client, rounds, report));
  }
  return absl::OkStatus();
}

absl::Status RunAll(const std::vector<std::string>& only, int rounds,
                    const std::string& command, const std::string& json) {
  Report report(command, rounds);
  // A file that cannot be written is found out now, not in the end.
  CAPSTAN_RETURN_IF_ERROR(report.Write(json));
  CAPSTAN_RETURN_IF_ERROR(RunServed(only, rounds, report));
  for (const std::string& name : only) {
    absl::Status status;
    if (name == "kernels") status = MeasureKernels(rounds, report);
    if (name == "threads") status = MeasureThreads(rounds, report);
    if (name == "balance") status = MeasureBalance(report);
    CAPSTAN_RETURN_IF_ERROR(WithContext(status, name));
  }
  return report.Write(json);
}

int Main(int argc, char** argv) {
  CLI::App app("Capstan's parameter server beside the machine's limits");
  std::string json;
  const std::vector<std::string> all = {"dense",   "small",   "rows",
                                        "kernels", "threads", "balance"};
  std::vector<std::string> only = all;
  int rounds = 9;
  app.add_option("--json", json, "where to write the figures");
  app.add_option("--only", only, "which experiments, separated by commas")
      ->delimiter(',')
      ->check(CLI::IsMember(all));
  app.add_option("--rounds", rounds, "how often; figures are medians")
      ->check(CLI::Range(1, 1000));
  // What the children are told. A group without a name is not in --help.
  std::string address;
  auto* serve = app.add_subcommand("serve")->group("");
  serve->add_option("address", address)->required();
  auto* serve_bare = app.add_subcommand("serve-bare")->group("");
  serve_bare->add_option("address", address)->required();
  CLI11_PARSE(app, argc, argv);

  absl::Status status;
  if (serve->parsed()) {
    status = ServeStore(address,
                        static_cast<int>(std::thread::hardware_concurrency()));
  } else if (serve_bare->parsed()) {
    status = ServeBare(address);
  } else if (json.empty()) {
    status = absl::InvalidArgumentError("--json FILE is required");
  } else {
    const std::vector<std::string> words(argv, argv + argc);
    status =
        RunAll(only, rounds, fmt::format("{}", fmt::join(words, " ")), json);
  }
  if (status.ok()) return 0;
  fmt::print(stderr, "bench_store: {}\n", Describe(status));
  return 1;
}

}  // namespace
}  // namespace capstan

int main(int argc, char** argv) { return capstan::Main(argc, argv); }
