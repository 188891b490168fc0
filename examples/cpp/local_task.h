// What a process of the demo needs to answer calls and to make them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "base/io_thread.h"
#include "base/log.h"
#include "base/random.h"
#include "base/real_clock.h"
#include "base/task.h"
#include "transport/server.h"
#include "transport/tcp/tcp_network.h"
#include "wire/channel.h"
#include "wire/hello.h"
#include "wire/service.h"

namespace capstan {

// One task of the demo's job, on one I/O thread. Used from the main thread.
class LocalTask {
 public:
  LocalTask(const std::string& role, uint32_t index);
  ~LocalTask() { Shutdown(); }

  Executor executor() { return thread_.executor(); }

  // Answers calls with `service`, on a port that the kernel chooses.
  absl::Status Serve(Service& service);
  std::string address() const { return server_->address(); }

  // A channel to `task` ("ps/0") at `address`, to be used and closed, with
  // CloseChannel, on the executor.
  std::unique_ptr<Channel> NewChannel(const std::string& task,
                                      const std::string& address);

  // Lets the calls being served finish.
  void Shutdown();

 private:
  Task<std::unique_ptr<Channel>> NewChannelHere(std::string task,
                                                std::string address);

  RealClock clock_;
  TcpNetwork network_{clock_};
  Hello self_;
  Logger logger_;
  Random random_ = Random::FromOs();
  IoThread thread_;
  std::unique_ptr<Server> server_;
};

Task<> CloseChannel(std::unique_ptr<Channel> channel);

}  // namespace capstan
