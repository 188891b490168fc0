#include <chrono>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/async/event.h"
#include "base/async/io_thread.h"
#include "base/async/real_clock.h"
#include "base/async/run_on.h"
#include "base/log.h"
#include "base/random.h"
#include "bench_store/experiments.h"
#include "bench_store/store_server.h"
#include "bench_store/timing.h"
#include "client/parameter_client.h"
#include "harness/memory.h"
#include "server/parameter_service.h"
#include "transport/inproc/inproc_network.h"
#include "transport/peer_channel.h"
#include "transport/server.h"
#include "wire/probe_service.h"

namespace capstan {
namespace {

// Work that is heavy for the server and light for the client: gradients of a
// few rows into a variable whose optimizer then updates all rows (Adam with
// exact moments). Each connection has its own variable.
constexpr int kClients = 4;
constexpr int64_t kRows = 1 << 14;
constexpr int64_t kRowElements = 16;
constexpr int kUpdates = 40;

// A server with `threads` threads, and clients that share one thread.
class Job {
 public:
  explicit Job(int threads) : service_(clock_, StoreOptions(), probe_) {
    server_threads_ = std::make_unique<IoThreads>(threads);
    for (int i = 0; i < threads; ++i) {
      executors_.push_back(server_threads_->executor(static_cast<size_t>(i)));
    }
  }
  ~Job() {
    client_thread_.Stop();
    server_threads_->Stop();
  }

  absl::Status Start() {
    ServerOptions options;
    options.self = StoreHello("ps");
    absl::StatusOr<std::unique_ptr<Server>> server = Server::Start(
        clock_, network_, logger_, service_, executors_, "inproc:ps", options);
    if (!server.ok()) return server.status();
    server_ = *std::move(server);
    for (int i = 0; i < kClients; ++i) clients_.push_back(NewClient());
    const absl::StatusOr<ShardMap> empty = ShardMap::Make(1, 0, 1, {});
    if (!empty.ok()) return empty.status();
    std::vector<VariableSpec> specs(kClients);
    for (int i = 0; i < kClients; ++i) {
      VariableSpec& spec = specs[static_cast<size_t>(i)];
      spec.name = absl::StrCat("v", i);
      spec.shape = {kRows, kRowElements};
      spec.optimizer = Adam{.row_moments = RowMoments::kExact};
    }
    const absl::StatusOr<ShardMap> map =
        AddVariables(*empty, specs, FixedShards(1));
    if (!map.ok()) return map.status();
    return RunOn(client_thread_.executor(), Install(*map));
  }

  // The seconds for all updates of all clients.
  absl::StatusOr<double> Run() {
    return RunOn(client_thread_.executor(), RunAll());
  }

 private:
  std::unique_ptr<ParameterClient> NewClient() {
    ChannelOptions options;
    options.self = StoreHello("chief");
    options.address = "inproc:ps";
    std::vector<std::unique_ptr<Channel>> channels;
    channels.push_back(NewPeerChannel(clock_, network_, logger_,
                                      Random::FromOs(),
                                      client_thread_.executor(), options));
    return std::make_unique<ParameterClient>(clock_, client_thread_.executor(),
                                             std::move(channels),
                                             Random::FromOs());
  }

  Task<absl::Status> Install(const ShardMap& map) {
    absl::Status status = co_await clients_[0]->Install(map, 1, 0);
    for (size_t i = 1; status.ok() && i < clients_.size(); ++i) {
      status = co_await clients_[i]->Refresh();
    }
    co_return status;
  }

  Task<absl::StatusOr<double>> RunAll() {
    done_.emplace(client_thread_.executor());
    left_ = kClients;
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < kClients; ++i) {
      Spawn(client_thread_.executor(), RunClient(static_cast<uint32_t>(i)));
    }
    co_await done_->Wait();
    const std::chrono::duration<double> elapsed =
        std::chrono::steady_clock::now() - start;
    if (!status_.ok()) co_return status_;
    co_return elapsed.count();
  }

  Task<> RunClient(uint32_t index) {
    ParameterClient& client = *clients_[index];
    const std::vector<int64_t> ids = {1, 5, 9};
    const std::vector<float> values(ids.size() * kRowElements, 1e-3F);
    RowsItem item;
    item.variable = client.map()->entries()[index].id;
    item.ids = ids;
    item.values = std::as_bytes(std::span(values));
    for (int i = 0; i < kUpdates && status_.ok(); ++i) {
      UpdateId id;
      id.fence = {.generation = 1, .term = 1};
      id.step = ++step_;
      absl::StatusOr<UpdateResult> summary = co_await client.Update(
          id, Operation::kGradient, std::span<const DenseItem>(),
          std::span<const RowsItem>(&item, 1), UpdateOptions());
      if (!summary.ok()) status_ = summary.status();
    }
    if (--left_ == 0) done_->Set();
  }

  RealClock clock_;
  Logger logger_ =
      Logger::ToStderr({.level = LogLevel::kWarning, .prefix = "bench_store"});
  InprocNetwork network_;
  ProbeService probe_;
  ParameterService service_;
  std::unique_ptr<Server> server_;
  std::vector<std::unique_ptr<ParameterClient>> clients_;
  uint64_t step_ = 0;
  int left_ = 0;
  absl::Status status_;
  std::optional<Event> done_;
  IoThread client_thread_;
  std::vector<Executor> executors_;
  std::unique_ptr<IoThreads> server_threads_;
};

}  // namespace

absl::Status MeasureThreads(int rounds, Report& report) {
  Job one(1);
  CAPSTAN_RETURN_IF_ERROR(one.Start());
  Job two(2);
  CAPSTAN_RETURN_IF_ERROR(two.Start());
  const absl::StatusOr<SideBySide> times = TimeSideBySide(
      rounds, [&] { return two.Run(); }, [&] { return one.Run(); });
  if (!times.ok()) return times.status();
  const double updates = kClients * kUpdates;
  report.Set("threads_2_over_1", times->ratio);
  report.PrintHeader("server threads: two, and one", "two");
  report.PrintRow("updates, in process", "1/s", updates / times->ours,
                  updates / times->bare, times->ratio);
  return absl::OkStatus();
}

}  // namespace capstan
