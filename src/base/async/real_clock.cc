#include "base/async/real_clock.h"

#include <asio/redirect_error.hpp>
#include <asio/steady_timer.hpp>
#include <asio/use_awaitable.hpp>

namespace capstan {
namespace {

using Steady = std::chrono::steady_clock;

class RealTimer final : public Timer {
 public:
  explicit RealTimer(const Executor& executor) : timer_(executor) {}

  Task<bool> SleepUntil(MonotonicTime time) override {
    timer_.expires_at(Steady::time_point(
        std::chrono::duration_cast<Steady::duration>(time.time_since_epoch())));
    asio::error_code error;
    co_await timer_.async_wait(
        asio::redirect_error(asio::use_awaitable, error));
    co_return !error;
  }

  void Cancel() override { timer_.cancel(); }

 private:
  asio::steady_timer timer_;
};

}  // namespace

MonotonicTime RealClock::Now() const {
  return MonotonicTime(
      std::chrono::duration_cast<Duration>(Steady::now().time_since_epoch()));
}

WallTime RealClock::WallNow() const {
  return std::chrono::time_point_cast<Duration>(
      std::chrono::system_clock::now());
}

std::unique_ptr<Timer> RealClock::NewTimer(const Executor& executor) {
  return std::make_unique<RealTimer>(executor);
}

}  // namespace capstan
