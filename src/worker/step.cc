#include "worker/step.h"

#include <asio/this_coro.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "worker/wait.h"

namespace capstan {
namespace {

uint64_t Milliseconds(Duration duration) {
  return static_cast<uint64_t>(
      std::chrono::floor<std::chrono::milliseconds>(duration).count());
}

}  // namespace

Step::Step(Clock& clock, ParameterClient& client, const UpdateId& id,
           const FunctionInfo& function)
    : clock_(clock),
      client_(client),
      id_(id),
      function_(function),
      since_(clock.Now()) {}

ReadOptions Step::Reading() {
  ReadOptions options;
  options.round = id_.round;
  options.cancellation = &cancellation_;
  return options;
}

Task<absl::Status> Step::Prepare() {
  if (client_.map()->generation() >= id_.fence.generation) {
    co_return absl::OkStatus();
  }
  const ReadOptions options = Reading();
  co_return co_await client_.Refresh(options.timeout, options.cancellation,
                                     id_.fence.generation);
}

Task<absl::StatusOr<std::vector<Tensor>>> Step::Read(
    std::vector<std::string> variables) {
  const Wait wait(*this, absl::StrCat("a pull of '",
                                      absl::StrJoin(variables, "', '"), "'"));
  const absl::Status prepared = co_await Prepare();
  if (!prepared.ok()) co_return prepared;
  const ReadOptions options = Reading();
  co_return co_await ReadByName(client_, std::move(variables), options, &seen_);
}

Task<absl::StatusOr<Tensor>> Step::ReadRows(std::string variable,
                                            std::vector<int64_t> ids) {
  const Wait wait(*this, absl::StrCat("rows of '", variable, "'"));
  const absl::Status prepared = co_await Prepare();
  if (!prepared.ok()) co_return prepared;
  const ReadOptions options = Reading();
  co_return co_await ReadRowsByName(client_, std::move(variable),
                                    std::move(ids), options);
}

absl::Status Step::CheckUpdates(const std::string& variable) const {
  if (!function_.options.reads_only) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "'", function_.name, "' was registered with reads_only, and updates '",
      variable, "'"));
}

Task<absl::StatusOr<UpdateResult>> Step::Apply(
    Operation operation, std::vector<VariableUpdate> updates) {
  CAPSTAN_CO_RETURN_IF_ERROR(
      CheckUpdates(updates.empty() ? "" : updates.front().variable));
  UpdateId id = id_;
  id.push = Reserve(1);
  std::string names;
  for (const VariableUpdate& update : updates) {
    absl::StrAppend(&names, names.empty() ? "'" : ", '", update.variable, "'");
  }
  const Wait wait(*this, absl::StrCat("an update of ", names));
  const absl::Status prepared = co_await Prepare();
  if (!prepared.ok()) co_return prepared;
  UpdateOptions options;
  options.cancellation = &cancellation_;
  co_return co_await UpdateByName(client_, id, operation, std::move(updates),
                                  options, &seen_);
}

Task<absl::Status> Step::Sleep(Duration duration) {
  const Executor executor = co_await asio::this_coro::executor;
  const std::unique_ptr<Timer> timer = clock_.NewTimer(executor);
  const MonotonicTime until = clock_.Now() + duration;
  const Wait wait(*this, "a sleep");
  const Cancellation::Registration registration(&cancellation_,
                                                [&timer] { timer->Cancel(); });
  if (!cancelled()) co_await timer->SleepUntil(until);
  if (cancelled()) co_return absl::CancelledError("the step was cancelled");
  co_return absl::OkStatus();
}

void Step::Cancel() {
  cancelled_.store(true, std::memory_order_release);
  cancellation_.Cancel();
}

RunningClosure Step::Report() const {
  RunningClosure report;
  report.step = id_.step;
  report.function = function_.name;
  report.started = started_;
  const MonotonicTime now = clock_.Now();
  report.since_ms = Milliseconds(now - since_);
  if (!waits_.empty()) {
    report.waits_for = waits_.front()->what();
    report.waits_ms = Milliseconds(now - waits_.front()->since());
  }
  return report;
}

}  // namespace capstan
