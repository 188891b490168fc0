// How fast is a parameter server, and how close to what the machine can do?
//
//   bench_store --json FILE [--only dense,rows,...] [--rounds 9]
//
// Each figure is the median of `rounds` rounds, each of which times ours and
// its reference one right after the other. Unless noted, server and client are
// two processes that talk over TCP on one machine.
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
#include "harness/bench_program.h"
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

absl::Status MeasureAll(const BenchProgram::Words& chosen, int rounds,
                        Report& report) {
  CAPSTAN_RETURN_IF_ERROR(RunServed(chosen, rounds, report));
  for (const std::string& name : chosen) {
    absl::Status status;
    if (name == "kernels") status = MeasureKernels(rounds, report);
    if (name == "threads") status = MeasureThreads(rounds, report);
    if (name == "balance") status = MeasureBalance(report);
    CAPSTAN_RETURN_IF_ERROR(WithContext(status, name));
  }
  return absl::OkStatus();
}

int Main(int argc, char** argv) {
  using Words = BenchProgram::Words;
  BenchProgram program(
      "bench_store", "Capstan's parameter server beside the machine's limits",
      {"dense", "small", "rows", "kernels", "threads", "balance"}, 9);
  program.AddChild("serve", {"address"}, [](const Words& words) {
    return ServeStore(words[0],
                      static_cast<int>(std::thread::hardware_concurrency()));
  });
  program.AddChild("serve-bare", {"address"},
                   [](const Words& words) { return ServeBare(words[0]); });
  return program.Run(argc, argv, MeasureAll);
}

}  // namespace
}  // namespace capstan

int main(int argc, char** argv) { return capstan::Main(argc, argv); }
