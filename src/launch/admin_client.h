// A client that queries the tasks of a job from outside it: `capstan status`,
// `capstan doctor`, and a worker that wants to join.
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
  ResolvedCluster cluster = {};  // the task in it is ignored
  // Whether the caller is a worker that has not joined yet, rather than
  // "admin".
  bool as_worker = false;
  // As in TaskOptions; the certificate is the caller's (worker or admin).
  std::string tls_directory = {};
  std::string token_file = {};
  // Limit for one answer; for AskStatus, for all answers together.
  Duration timeout = std::chrono::seconds(2);
};

// Owns one thread. The destructor destroys whatever is still running on it.
class AdminClient {
 public:
  // Fails only for errors on this side: bad certificates or a bad token.
  static absl::StatusOr<std::unique_ptr<AdminClient>> Create(
      AdminOptions options);

  const AdminOptions& options() const { return options_; }
  Executor executor() { return thread_.executor(); }
  Clock& clock() { return clock_; }

  // On executor(): a channel to a task of the cluster. Unless `as_worker` is
  // set, calls return a Refusal at once if nobody listens at the task's
  // address.
  std::unique_ptr<Channel> NewChannel(TaskId task);

  // On executor(): sends a request without parameters over a new channel.
  // Returns the body of the answer.
  Task<absl::StatusOr<std::string>> Ask(TaskId task, Method method);
  // The same, with a timeout for this request only.
  Task<absl::StatusOr<std::string>> Ask(TaskId task, Method method,
                                        Duration timeout);

  // Like the first Ask, for a request that has parameters.
  Task<absl::StatusOr<std::string>> Send(TaskId task, Method method,
                                         std::string body);

  // On executor(): whether the task's address accepts connections. Errors as
  // for Network::Connect.
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
