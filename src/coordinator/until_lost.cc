#include "coordinator/until_lost.h"

#include "base/async/run_on.h"

namespace capstan {

std::shared_ptr<Cancellation> UntilLost(
    const CoordinatorMaker::Impl& coordinator_impl) {
  const auto ask =
      [](Dispatcher& dispatcher) -> Task<std::shared_ptr<Cancellation>> {
    co_return dispatcher.until_lost();
  };
  return RunOn(coordinator_impl.executor, ask(coordinator_impl.dispatcher));
}

absl::Status OrLost(const CoordinatorMaker::Impl& coordinator_impl,
                    const absl::Status& status) {
  if (!absl::IsCancelled(status)) return status;
  const auto ask = [](Dispatcher& dispatcher) -> Task<absl::Status> {
    co_return dispatcher.LostServer();
  };
  const absl::Status lost =
      RunOn(coordinator_impl.executor, ask(coordinator_impl.dispatcher));
  return lost.ok() ? status : lost;
}

}  // namespace capstan
