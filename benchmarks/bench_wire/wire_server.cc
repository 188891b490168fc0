#include "bench_wire/wire_server.h"

#include <unistd.h>

#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "base/async/io_thread.h"
#include "base/log.h"
#include "base/status.h"
#include "capstan/version.h"
#include "launch/system/child_process.h"
#include "transport/server.h"
#include "wire/probe_service.h"

namespace capstan {

Hello BenchHello(std::string_view role) {
  Hello hello;
  hello.version = std::string(Version());
  hello.job = "bench";
  hello.role = std::string(role);
  hello.incarnation = static_cast<uint64_t>(getpid());
  return hello;
}

absl::Status ServeWire(Clock& clock, Network& network,
                       const std::string& address) {
  Logger logger = Logger::ToStderr(
      {.level = LogLevel::kWarning, .prefix = "bench_wire serve"});
  ProbeService service;
  ServerOptions options;
  options.self = BenchHello("ps");
  const int cores = static_cast<int>(std::thread::hardware_concurrency());
  IoThreads threads(cores);
  std::vector<Executor> executors;
  for (int i = 0; i < cores; ++i) {
    executors.push_back(threads.executor(static_cast<size_t>(i)));
  }
  absl::StatusOr<std::unique_ptr<Server>> server =
      Server::Start(clock, network, logger, service, std::move(executors),
                    address, std::move(options));
  if (!server.ok()) return server.status();
  CAPSTAN_RETURN_IF_ERROR(ReportReady((*server)->address()));
  while (true) pause();
}

}  // namespace capstan
