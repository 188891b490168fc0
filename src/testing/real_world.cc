#include "testing/real_world.h"

#include <chrono>
#include <thread>
#include <utility>

namespace capstan::testing {
namespace {

constexpr int kServerThreads = 2;
// Longer than any correct test takes, even under a sanitizer.
constexpr std::chrono::seconds kPatience(60);
constexpr std::chrono::microseconds kBetweenLooks(50);

}  // namespace

RealWorld::RealWorld(std::shared_ptr<Network> server_network,
                     std::shared_ptr<Network> client_network,
                     std::function<std::string()> new_address)
    : server_network_(std::move(server_network)),
      client_network_(std::move(client_network)),
      new_address_(std::move(new_address)),
      client_threads_(std::make_unique<IoThreads>(1)),
      server_threads_(std::make_unique<IoThreads>(kServerThreads)) {}

Clock& RealWorld::clock(Side) { return clock_; }

Network& RealWorld::network(Side side) {
  return side == Side::kServer ? *server_network_ : *client_network_;
}

std::vector<Executor> RealWorld::executors(Side side) {
  IoThreads& threads =
      side == Side::kServer ? *server_threads_ : *client_threads_;
  std::vector<Executor> executors;
  for (int i = 0; i < threads.size(); ++i) {
    executors.push_back(threads.executor(static_cast<size_t>(i)));
  }
  return executors;
}

bool RealWorld::RunUntil(const std::function<bool()>& done) {
  const MonotonicTime limit = clock_.Now() + kPatience;
  while (!done()) {
    if (clock_.Now() > limit) return false;
    std::this_thread::sleep_for(kBetweenLooks);
  }
  return true;
}

void RealWorld::CrashServer() {
  server_threads_ = nullptr;
  server_threads_ = std::make_unique<IoThreads>(kServerThreads);
}

}  // namespace capstan::testing
