// How fast is the wire, and how close to what the machine's sockets can do?
//
//   bench_wire --json FILE [--transports tcp,tls,unix] [--rounds 9]
//
// Two processes on one machine: this one calls, a child answers. For each
// exchange (see harness/exchange.h), the same run also times a bare reference
// of the same shape, round by round: blocking sockets of the same kind, but
// plain TCP sockets for TLS, because bare TLS would hide its cost. Neither is
// pinned to a core. For each transport T the file has
//   T.rtt_8_us, T.rtt_4k_us          round trip
//   T.gbps_64k, _1m, _64m            pull (small request, reply received in
//                                    place), in GB/s: the key figures
//   T.push_gbps_64k, _1m, _64m       push
// each with its T.bare_... and T...._ratio (ours / bare), and
//   T.small_behind_large_us, _p99_us 4 KiB round trip while pulls of 64 MiB
//                                    follow one another on the same channel;
//                                    T.small_idle_us, _p99_us: without them;
//                                    T.small_behind_large_gbps: their speed
//   T.first_request_us, _p99_us      new channel: connect, handshake, 8 bytes
//                                    there and back
//   T.connections_1000_kb_each       server memory per connection (1 KB is 1024
//                                    bytes) with 1,000 open at once, all of
//                                    which answer; T.connections_1000_us: the
//                                    median round trip over each of them
#include <sys/resource.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/async/real_clock.h"
#include "base/async/run_on.h"
#include "base/status.h"
#include "bench_wire/experiments.h"
#include "bench_wire/network_for.h"
#include "bench_wire/wire_client.h"
#include "bench_wire/wire_server.h"
#include "harness/bare_socket.h"
#include "harness/bench_program.h"
#include "harness/measure.h"
#include "harness/report.h"
#include "harness/running_server.h"
#include "harness/statistics.h"

namespace capstan {
namespace {

constexpr int kSmallCalls = 2'000;
constexpr int kFirstCalls = 200;
constexpr int kConnections = 1'000;

// The benchmark of one transport.
class TransportBench {
 public:
  TransportBench(const ScratchDirectory& scratch, Clock& clock,
                 std::string transport, int rounds, Report& report)
      : scratch_(scratch),
        clock_(clock),
        transport_(std::move(transport)),
        rounds_(rounds),
        report_(report) {}

  absl::Status Run() {
    absl::StatusOr<std::unique_ptr<Network>> network =
        NetworkFor(clock_, transport_, scratch_.path(), "worker");
    if (!network.ok()) return network.status();
    report_.PrintHeader(transport_, "Capstan");
    CAPSTAN_RETURN_IF_ERROR(RunPair(**network));
    // In a server of its own, whose memory nothing else has touched.
    absl::StatusOr<RunningServer> server = StartWire("many");
    if (!server.ok()) return server.status();
    WireClient client(clock_, **network, server->address);
    return RunConnections(client, server->process.pid());
  }

 private:
  absl::StatusOr<RunningServer> StartWire(const std::string& name) {
    return StartServer({"serve", transport_, scratch_.path(),
                        scratch_.AddressFor(transport_, name)});
  }

  absl::Status RunPair(Network& network) {
    absl::StatusOr<RunningServer> server = StartWire("wire");
    if (!server.ok()) return server.status();
    absl::StatusOr<RunningServer> bare_server =
        StartServer({"serve-bare", scratch_.AddressFor(transport_, "bare")});
    if (!bare_server.ok()) return bare_server.status();
    WireClient client(clock_, network, server->address);
    CAPSTAN_RETURN_IF_ERROR(RunExchanges(client, bare_server->address));
    CAPSTAN_RETURN_IF_ERROR(RunSmallCalls(client));
    return RunFirstCalls(client);
  }

  absl::Status RunExchanges(WireClient& client, const std::string& bare) {
    absl::StatusOr<std::unique_ptr<Contender>> ours = ConnectWire(client);
    if (!ours.ok()) return ours.status();
    absl::StatusOr<std::unique_ptr<Contender>> reference = ConnectBare(bare);
    if (!reference.ok()) return reference.status();
    return MeasureExchanges(transport_, **ours, **reference, rounds_, report_);
  }

  absl::Status RunSmallCalls(WireClient& client) {
    absl::StatusOr<SmallCalls> calls =
        RunOn(client.executor(), TimeSmallCalls(client, kSmallCalls));
    if (!calls.ok()) return calls.status();
    AddTimes("small_idle", "4 KiB, nothing else", calls->idle);
    AddTimes("small_behind_large", "4 KiB behind 64 MiB", calls->behind_large);
    report_.Set(transport_ + ".small_behind_large_gbps", calls->large_gbps);
    report_.PrintRow("the 64 MiB meanwhile", "GB/s", calls->large_gbps);
    return absl::OkStatus();
  }

  absl::Status RunFirstCalls(WireClient& client) {
    absl::StatusOr<Latencies> times =
        RunOn(client.executor(), TimeFirstCalls(client, kFirstCalls));
    if (!times.ok()) return times.status();
    AddTimes("first_request", "first request of a channel", *times);
    return absl::OkStatus();
  }

  absl::Status RunConnections(WireClient& client, int server_pid) {
    absl::StatusOr<Connections> held = RunOn(
        client.executor(), HoldConnections(client, kConnections, server_pid));
    if (!held.ok()) return held.status();
    const double kilobytes = held->server_bytes_each / 1024;
    report_.Set(transport_ + ".connections_1000_kb_each", kilobytes);
    report_.Set(transport_ + ".connections_1000_us", Median(held->last_calls));
    report_.PrintRow("1,000 connections, memory each", "KB", kilobytes);
    report_.PrintRow("  8 B round trip on each", "us",
                     Median(held->last_calls));
    return absl::OkStatus();
  }

  // The median and the 99th percentile of `times`.
  void AddTimes(const std::string& key, const std::string& name,
                const Latencies& times) {
    const double median = Median(times);
    const double p99 = Quantile(times, 0.99);
    report_.Set(transport_ + "." + key + "_us", median);
    report_.Set(transport_ + "." + key + "_p99_us", p99);
    report_.PrintRow(name, "us", median);
    report_.PrintRow("  99th percentile", "us", p99);
  }

  const ScratchDirectory& scratch_;
  Clock& clock_;
  const std::string transport_;
  const int rounds_;
  Report& report_;
};

absl::Status MeasureAll(const BenchProgram::Words& transports, int rounds,
                        Report& report) {
  absl::StatusOr<ScratchDirectory> scratch = ScratchDirectory::Create();
  if (!scratch.ok()) return scratch.status();
  WriteKeys(scratch->path());
  RealClock clock;
  for (const std::string& transport : transports) {
    TransportBench bench(*scratch, clock, transport, rounds, report);
    CAPSTAN_RETURN_IF_ERROR(WithContext(bench.Run(), transport));
  }
  return absl::OkStatus();
}

absl::Status Serve(const std::string& transport, const std::string& directory,
                   const std::string& address) {
  RealClock clock;
  absl::StatusOr<std::unique_ptr<Network>> network =
      NetworkFor(clock, transport, directory, "ps");
  if (!network.ok()) return network.status();
  return ServeWire(clock, **network, address);
}

// A thousand connections need as many descriptors.
void RaiseDescriptorLimit() {
  rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

int Main(int argc, char** argv) {
  using Words = BenchProgram::Words;
  RaiseDescriptorLimit();
  BenchProgram program("bench_wire", "Capstan's wire beside bare sockets",
                       {"tcp", "tls", "unix"}, 9, "--transports");
  program.AddChild(
      "serve", {"transport", "directory", "address"},
      [](const Words& words) { return Serve(words[0], words[1], words[2]); });
  program.AddChild("serve-bare", {"address"},
                   [](const Words& words) { return ServeBare(words[0]); });
  return program.Run(argc, argv, MeasureAll);
}

}  // namespace
}  // namespace capstan

int main(int argc, char** argv) { return capstan::Main(argc, argv); }
