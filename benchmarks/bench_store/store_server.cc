#include "bench_store/store_server.h"

#include <unistd.h>

#include <memory>
#include <utility>
#include <vector>

#include "base/async/io_thread.h"
#include "base/async/real_clock.h"
#include "base/log.h"
#include "base/status.h"
#include "capstan/version.h"
#include "launch/system/child_process.h"
#include "server/parameter_service.h"
#include "transport/server.h"
#include "transport/tcp/tcp_network.h"
#include "wire/probe_service.h"

namespace capstan {

Hello StoreHello(std::string_view role) {
  Hello hello;
  hello.version = std::string(Version());
  hello.job = "bench";
  hello.role = std::string(role);
  hello.incarnation = static_cast<uint64_t>(getpid());
  return hello;
}

absl::Status ServeStore(const std::string& address, int threads) {
  RealClock clock;
  TcpNetwork network(clock);
  Logger logger = Logger::ToStderr(
      {.level = LogLevel::kWarning, .prefix = "bench_store serve"});
  ProbeService probe;
  ParameterService service(clock, StoreOptions(), probe);
  ServerOptions options;
  options.self = StoreHello("ps");
  IoThreads io(threads);
  std::vector<Executor> executors;
  for (int i = 0; i < threads; ++i) {
    executors.push_back(io.executor(static_cast<size_t>(i)));
  }
  absl::StatusOr<std::unique_ptr<Server>> server =
      Server::Start(clock, network, logger, service, std::move(executors),
                    address, std::move(options));
  if (!server.ok()) return server.status();
  CAPSTAN_RETURN_IF_ERROR(ReportReady((*server)->address()));
  while (true) pause();
}

}  // namespace capstan
