#include "coordinator/until_lost.h"

#include "base/run_on.h"

namespace capstan {

std::shared_ptr<Cancellation> UntilLost(const CoordinatorMaker::Impl& front) {
  const auto ask =
      [](Dispatcher& dispatcher) -> Task<std::shared_ptr<Cancellation>> {
    co_return dispatcher.until_lost();
  };
  return RunOn(front.executor, ask(front.dispatcher));
}

absl::Status OrLost(const CoordinatorMaker::Impl& front,
                    const absl::Status& status) {
  if (!absl::IsCancelled(status)) return status;
  const auto ask = [](Dispatcher& dispatcher) -> Task<absl::Status> {
    co_return dispatcher.LostServer();
  };
  const absl::Status lost = RunOn(front.executor, ask(front.dispatcher));
  return lost.ok() ? status : lost;
}

}  // namespace capstan
