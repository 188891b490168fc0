#include "launch/task_host.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/async/run_on.h"
#include "base/file/open_files.h"
#include "base/status.h"
#include "capstan/version.h"
#include "launch/security/network_policy.h"
#include "launch/security/tls_directory.h"
#include "launch/security/watch_tls.h"
#include "membership/roster.h"
#include "transport/tcp/tcp_network.h"
#include "transport/tls/tls_network.h"

namespace capstan {
namespace {

constexpr char kUnnamedJob[] = "unnamed";

int NumThreads(const TaskOptions& options) {
  // Roles other than parameter servers use a single executor.
  if (options.cluster.task->role != Role::kPs) return 1;
  if (options.threads > 0) return options.threads;
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

}  // namespace

std::string JobName(const ResolvedCluster& cluster) {
  return cluster.job_id.empty() ? kUnnamedJob : cluster.job_id;
}

TaskHost::TaskHost(TaskOptions options, std::shared_ptr<Network> network)
    : options_(std::move(options)),
      random_(Random::FromOs()),
      network_(std::move(network)) {
  const TaskId task = *options_.cluster.task;
  self_.version = std::string(Version());
  self_.job = JobName(options_.cluster);
  self_.role = std::string(RoleName(task.role));
  self_.index = static_cast<uint32_t>(task.index);
  self_.incarnation = random_.NextU64();
  logger_ = Logger::ToStderr(
      {.level = options_.log_level, .prefix = TaskName(self_)});
}

absl::StatusOr<std::unique_ptr<TaskHost>> TaskHost::Create(
    TaskOptions options, std::shared_ptr<Network> network) {
  if (!options.cluster.task) {
    return absl::FailedPreconditionError(
        absl::StrCat(options.cluster.source,
                     " does not say which task this is: set "
                     "CAPSTAN_TASK, such as worker/0"));
  }
  std::unique_ptr<TaskHost> host(
      new TaskHost(std::move(options), std::move(network)));
  CAPSTAN_RETURN_IF_ERROR(host->Prepare());
  return host;
}

absl::Status TaskHost::Prepare() {
  RaiseOpenFileLimit();
  NetworkPolicy policy;
  policy.tls = !options_.tls_directory.empty();
  policy.insecure_network = options_.insecure_network;
  absl::StatusOr<std::string> warning = CheckListen(listen_address(), policy);
  if (!warning.ok()) return warning.status();
  insecurity_ = *std::move(warning);
  if (!insecurity_.empty()) logger_.Warning("{}", insecurity_);
  absl::StatusOr<std::optional<JobToken>> token =
      ReadTokenOption(options_.token_file, policy.tls);
  if (!token.ok()) return token.status();
  token_ = *std::move(token);
  if (network_ == nullptr) {
    sockets_ = network_ = std::make_shared<TcpNetwork>(clock_);
    if (policy.tls) {
      absl::StatusOr<TlsOptions> files =
          FindTlsFiles(options_.tls_directory, *options_.cluster.task);
      if (!files.ok()) return files.status();
      absl::StatusOr<std::unique_ptr<TlsContext>> tls =
          TlsContext::Load(clock_, *std::move(files));
      if (!tls.ok()) return tls.status();
      tls_ = *std::move(tls);
      network_ = std::make_shared<TlsNetwork>(*sockets_, *tls_);
    }
  }
  threads_ = std::make_unique<IoThreads>(NumThreads(options_));
  if (tls_ != nullptr) {
    Spawn(executor(),
          WatchTls(clock_, executor(), logger_, *tls_, options_.tls_reload));
  }
  return absl::OkStatus();
}

std::string TaskHost::listen_address() const {
  if (!options_.listen.empty()) return options_.listen;
  return options_.cluster.spec.task_address(*options_.cluster.task);
}

TaskHost::~TaskHost() { Shutdown(Duration::zero()); }

Hello TaskHost::Introduction() const {
  static_assert(JobToken::kBytes == Hello::kTokenBytes);
  Hello hello = self_;
  if (token_) hello.token = std::string(token_->bytes());
  return hello;
}

absl::Status TaskHost::Serve(Service& service) {
  ServerOptions options;
  options.self = Introduction();
  std::vector<Executor> executors;
  for (int i = 0; i < threads_->size(); ++i) {
    executors.push_back(threads_->executor(static_cast<size_t>(i)));
  }
  absl::StatusOr<std::unique_ptr<Server>> server =
      Server::Start(clock_, *network_, logger_, service, std::move(executors),
                    listen_address(), std::move(options));
  if (!server.ok()) return WithTask(server.status(), name());
  server_ = *std::move(server);
  return absl::OkStatus();
}

void TaskHost::Shutdown(Duration grace) {
  if (server_ == nullptr) return;
  RunOn(executor(), server_->Shutdown(clock_.Now() + grace));
  server_ = nullptr;
}

void TaskHost::StopThreads() { threads_->Stop(); }

ChannelOptions TaskHost::OptionsFor(const std::string& task,
                                    const std::string& address) const {
  ChannelOptions options;
  options.self = Introduction();
  options.address = address;
  options.expected_task = task;
  options.backoff.max = Roster::kMaxBackoff;
  return options;
}

std::unique_ptr<Channel> TaskHost::NewChannel(const std::string& task,
                                              const std::string& address) {
  return NewPeerChannel(clock_, *network_, logger_, random_.Fork(task),
                        executor(), OptionsFor(task, address));
}

std::unique_ptr<Channel> TaskHost::NewRosterChannel(
    const std::string& task, const std::string& address) {
  ChannelOptions options = OptionsFor(task, address);
  options.fail_if_refused = true;
  return NewPeerChannel(clock_, *network_, logger_, random_.Fork(task),
                        executor(), std::move(options));
}

std::unique_ptr<Channel> TaskHost::NewUnboundedChannel(
    const std::string& task, const std::string& address) {
  ChannelOptions options = OptionsFor(task, address);
  options.bytes_in_flight = UINT64_MAX;
  return NewPeerChannel(clock_, *network_, logger_, random_.Fork(task),
                        executor(), std::move(options));
}

}  // namespace capstan
