// A world of real threads and the real clock: two threads for the server, one
// for the client. Test-only.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/async/io_thread.h"
#include "base/async/real_clock.h"
#include "testing/transport_world.h"

namespace capstan::testing {

class RealWorld : public TransportWorld {
 public:
  // `new_address` generates the addresses. The two networks may be the same
  // one.
  RealWorld(std::shared_ptr<Network> server_network,
            std::shared_ptr<Network> client_network,
            std::function<std::string()> new_address);

  Clock& clock(Side side) override;
  Network& network(Side side) override;
  std::vector<Executor> executors(Side side) override;
  std::string NewAddress() override { return new_address_(); }
  [[nodiscard]] bool RunUntil(const std::function<bool()>& done) override;
  void CrashServer() override;

 private:
  RealClock clock_;
  const std::shared_ptr<Network> server_network_;
  const std::shared_ptr<Network> client_network_;
  const std::function<std::string()> new_address_;
  std::unique_ptr<IoThreads> client_threads_;
  std::unique_ptr<IoThreads> server_threads_;
};

}  // namespace capstan::testing
