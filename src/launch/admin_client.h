// Somebody outside of a job who asks its tasks: `capstan status` and `doctor`,
// and a worker that wants to join.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "base/async/clock.h"
#include "base/async/io_thread.h"
#include "base/async/real_clock.h"
#include "base/log.h"
#include "base/random.h"
#include "capstan/resolver.h"
#include "transport/tcp/tcp_network.h"
#include "transport/tls/tls_context.h"
#include "transport/tls/tls_network.h"
#include "wire/channel.h"
#include "wire/hello.h"

namespace capstan {

struct AdminOptions {
  ResolvedCluster cluster = {};  // its task does not matter
  // Who asks: a worker that is not in the job yet, or "admin".
  bool as_worker = false;
  // As in TaskOptions; the certificate used is that of who asks.
  std::string tls_directory = {};
  std::string token_file = {};
  // How long one answer may take; for AskStatus, all of them together.
  Duration timeout = std::chrono::seconds(2);
};

// Has one thread. Destroying it destroys what still runs there.
class AdminClient {
 public:
  // Fails only for what is wrong on this side: the certificates, the token.
  static absl::StatusOr<std::unique_ptr<AdminClient>> Create(
      AdminOptions options);

  const AdminOptions& options() const { return options_; }
  Executor executor() { return thread_.executor(); }
  Clock& clock() { return clock_; }

  // On executor(): a channel to a task of the cluster. For who is not about to
  // join, calls return a Refusal at once if nobody listens at its address.
  std::unique_ptr<Channel> NewChannel(TaskId task);

  // On executor(): asks a task for something that has no parameters, over a
  // channel of its own. Returns the body of the answer.
  Task<absl::StatusOr<std::string>> Ask(TaskId task, Method method);
  // The same, with a time-out of its own.
  Task<absl::StatusOr<std::string>> Ask(TaskId task, Method method,
                                        Duration timeout);

  // The same as the first, for something that has.
  Task<absl::StatusOr<std::string>> Send(TaskId task, Method method,
                                         std::string body);

  // On executor(): whether anybody takes a connection at the task's address.
  // As Network::Connect.
  Task<absl::Status> TryToConnect(TaskId task);

 private:
  explicit AdminClient(AdminOptions options);
  absl::Status LoadSecrets();
  Task<absl::StatusOr<std::string>> Call(TaskId task, Method method,
                                         std::string body, Duration timeout);

  const AdminOptions options_;
  RealClock clock_;
  Logger logger_;
  Random random_ = Random::FromOs();
  Hello self_;
  TcpNetwork sockets_{clock_};
  std::unique_ptr<TlsContext> context_;
  std::unique_ptr<TlsNetwork> tls_;
  IoThread thread_;
};

}  // namespace capstan
