#include "launch/admin_client.h"

#include <utility>
#include <vector>

#include "base/status.h"
#include "capstan/version.h"
#include "launch/security/job_token.h"
#include "launch/security/tls_directory.h"
#include "launch/task_host.h"
#include "transport/peer_channel.h"

namespace capstan {

AdminClient::AdminClient(AdminOptions options) : options_(std::move(options)) {
  self_.version = std::string(Version());
  self_.job = JobName(options_.cluster);
  self_.role = options_.as_worker ? "worker" : "admin";
  self_.incarnation = random_.NextU64();
}

absl::StatusOr<std::unique_ptr<AdminClient>> AdminClient::Create(
    AdminOptions options) {
  std::unique_ptr<AdminClient> client(new AdminClient(std::move(options)));
  CAPSTAN_RETURN_IF_ERROR(client->LoadSecrets());
  return client;
}

absl::Status AdminClient::LoadSecrets() {
  const bool tls = !options_.tls_directory.empty();
  absl::StatusOr<std::optional<JobToken>> token =
      ReadTokenOption(options_.token_file, tls);
  if (!token.ok()) return token.status();
  if (*token) self_.token = std::string((*token)->bytes());
  if (!tls) return absl::OkStatus();
  absl::StatusOr<TlsOptions> files =
      options_.as_worker
          ? FindTlsFiles(options_.tls_directory, {Role::kWorker, 0})
          : FindAdminTlsFiles(options_.tls_directory);
  if (!files.ok()) return files.status();
  absl::StatusOr<std::unique_ptr<TlsContext>> context =
      TlsContext::Load(clock_, *std::move(files));
  if (!context.ok()) return context.status();
  context_ = *std::move(context);
  tls_ = std::make_unique<TlsNetwork>(sockets_, *context_);
  return absl::OkStatus();
}

std::unique_ptr<Channel> AdminClient::NewChannel(TaskId task) {
  ChannelOptions options;
  options.self = self_;
  options.address = options_.cluster.spec.task_address(task);
  options.expected_task = task.ToString();
  options.fail_if_refused = !options_.as_worker;
  Network& network = tls_ == nullptr ? static_cast<Network&>(sockets_) : *tls_;
  return NewPeerChannel(clock_, network, logger_,
                        random_.Fork(options.expected_task), executor(),
                        options);
}

Task<absl::StatusOr<std::string>> AdminClient::Ask(TaskId task, Method method) {
  return Call(task, method, "", options_.timeout);
}

Task<absl::StatusOr<std::string>> AdminClient::Ask(TaskId task, Method method,
                                                   Duration timeout) {
  return Call(task, method, "", timeout);
}

Task<absl::StatusOr<std::string>> AdminClient::Send(TaskId task, Method method,
                                                    std::string body) {
  return Call(task, method, std::move(body), options_.timeout);
}

Task<absl::StatusOr<std::string>> AdminClient::Call(TaskId task, Method method,
                                                    std::string body,
                                                    Duration timeout) {
  std::unique_ptr<Channel> channel = NewChannel(task);
  CallOptions call;
  call.timeout = timeout;
  std::vector<Bytes> attachments;
  absl::StatusOr<Reply> reply = co_await channel->Call(
      method, std::move(body), std::move(attachments), std::move(call));
  co_await channel->Close();
  if (!reply.ok()) co_return reply.status();
  co_return std::move(reply->body);
}

Task<absl::Status> AdminClient::TryToConnect(TaskId task) {
  std::string address = options_.cluster.spec.task_address(task);
  Executor here = executor();
  const MonotonicTime deadline = clock_.Now() + options_.timeout;
  absl::StatusOr<std::unique_ptr<Stream>> stream =
      co_await sockets_.Connect(here, std::move(address), deadline);
  co_return stream.status();
}

}  // namespace capstan
