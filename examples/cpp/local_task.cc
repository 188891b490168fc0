#include "local_task.h"

#include <chrono>
#include <utility>

#include "base/run_on.h"
#include "capstan/version.h"
#include "transport/peer_channel.h"

namespace capstan {

LocalTask::LocalTask(const std::string& role, uint32_t index) {
  self_.version = std::string(Version());
  self_.job = "exchange_tensors";
  self_.role = role;
  self_.index = index;
  self_.incarnation = random_.NextU64();
  logger_ = Logger::ToStderr(
      {.level = LogLevel::kWarning, .prefix = TaskName(self_)});
}

absl::Status LocalTask::Serve(Service& service) {
  ServerOptions options;
  options.self = self_;
  absl::StatusOr<std::unique_ptr<Server>> server =
      Server::Start(clock_, network_, logger_, service, {executor()},
                    "127.0.0.1:0", std::move(options));
  if (!server.ok()) return server.status();
  server_ = *std::move(server);
  return absl::OkStatus();
}

std::unique_ptr<Channel> LocalTask::NewChannel(const std::string& task,
                                               const std::string& address) {
  return RunOn(executor(), NewChannelHere(task, address));
}

Task<std::unique_ptr<Channel>> LocalTask::NewChannelHere(std::string task,
                                                         std::string address) {
  ChannelOptions options;
  options.self = self_;
  options.address = std::move(address);
  options.expected_task = std::move(task);
  co_return NewPeerChannel(clock_, network_, logger_,
                           random_.Fork(random_.NextU64()), executor(),
                           std::move(options));
}

void LocalTask::Shutdown() {
  if (server_ == nullptr) return;
  RunOn(executor(), server_->Shutdown(clock_.Now() + std::chrono::seconds(1)));
  server_ = nullptr;
}

Task<> CloseChannel(std::unique_ptr<Channel> channel) {
  co_await channel->Close();
}

}  // namespace capstan
