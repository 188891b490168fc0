// What a task runs on: an identity, threads, a network and a server.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/async/io_thread.h"
#include "base/async/real_clock.h"
#include "base/log.h"
#include "base/random.h"
#include "launch/local/task_options.h"
#include "launch/security/job_token.h"
#include "transport/peer_channel.h"
#include "transport/server.h"
#include "transport/tls/tls_context.h"
#include "wire/channel.h"
#include "wire/hello.h"
#include "wire/service.h"

namespace capstan {

// The name by which the tasks of a job recognise one another: its id, or a name
// that all jobs without an id share.
std::string JobName(const ResolvedCluster& cluster);

// Used from one thread, not one of its own, except where noted.
class TaskHost {
 public:
  // Checks the options and prepares; does not listen yet. Uses `network`
  // instead of sockets unless it is null. Errors name what to change.
  static absl::StatusOr<std::unique_ptr<TaskHost>> Create(
      TaskOptions options, std::shared_ptr<Network> network = nullptr);
  // Shuts down, without waiting for requests.
  ~TaskHost();

  // Answers calls with `service`, which must outlive this host's Shutdown, at
  // the address in the options. Unavailable if that address is taken.
  absl::Status Serve(Service& service);
  // Gives calls in progress `grace` to finish, and stops listening.
  void Shutdown(Duration grace);
  // Stops the threads. Remaining coroutines are destroyed with the host.
  void StopThreads();

  // On executor(): a channel to another task of the job.
  std::unique_ptr<Channel> NewChannel(const std::string& task,
                                      const std::string& address);
  // The same for the roster: calls return a Refusal at once if nobody listens
  // there.
  std::unique_ptr<Channel> NewRosterChannel(const std::string& task,
                                            const std::string& address);
  // As NewChannel, without a limit on the bytes in flight, for calls that may
  // take forever: no call waits for earlier ones.
  std::unique_ptr<Channel> NewUnboundedChannel(const std::string& task,
                                               const std::string& address);

  const TaskOptions& options() const { return options_; }
  const Hello& self() const { return self_; }
  std::string name() const { return TaskName(self_); }
  // Whether other machines can reach this task without TLS.
  bool insecure() const { return !insecurity_.empty(); }
  const Logger& logger() const { return logger_; }
  Clock& clock() { return clock_; }
  const Clock& clock() const { return clock_; }
  Executor executor() { return threads_->executor(0); }
  // The address to listen on, and the one it actually listens on.
  std::string listen_address() const;
  std::string address() const { return server_->address(); }
  // As Server::turned_away. From any thread, while it serves.
  std::string turned_away() const { return server_->turned_away(); }

 private:
  ChannelOptions OptionsFor(const std::string& task,
                            const std::string& address) const;
  TaskHost(TaskOptions options, std::shared_ptr<Network> network);
  absl::Status Prepare();
  // What peers are told: self(), and the token, which nobody else needs.
  Hello Introduction() const;

  const TaskOptions options_;
  RealClock clock_;
  Hello self_;
  Logger logger_;
  Random random_;
  std::string insecurity_;  // a warning, or empty
  std::optional<JobToken> token_;
  std::unique_ptr<TlsContext> tls_;
  std::shared_ptr<Network> sockets_;
  std::shared_ptr<Network> network_;
  std::unique_ptr<IoThreads> threads_;
  std::unique_ptr<Server> server_;
};

}  // namespace capstan
