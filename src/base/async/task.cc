#include "base/async/task.h"

#include <asio/co_spawn.hpp>
#include <asio/execution.hpp>
#include <exception>
#include <utility>

namespace capstan {
namespace {

// Runs what it is given immediately. For the completion of a coroutine that
// nobody waits for, which Asio would otherwise queue on the executor.
struct InlineExecutor {
  template <typename Function>
  void execute(Function&& function) const {
    std::forward<Function>(function)();
  }
  static constexpr asio::execution::blocking_t::never_t query(
      asio::execution::blocking_t) noexcept {
    return {};
  }
  InlineExecutor require(asio::execution::blocking_t::never_t) const noexcept {
    return *this;
  }
  bool operator==(const InlineExecutor&) const noexcept = default;
};

struct Detached {
  using executor_type = InlineExecutor;
  executor_type get_executor() const noexcept { return {}; }
  void operator()(const std::exception_ptr&) const noexcept {}
};

}  // namespace

void Spawn(const Executor& executor, Task<> task) {
  asio::co_spawn(executor, std::move(task), Detached());
}

}  // namespace capstan
