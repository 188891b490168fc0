#include "simulate/closures/closure_runner.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace capstan::simulate {
namespace {

// The share of steps that read the table by rows.
constexpr double kByRows = 0.2;
// How long at most a worker is away after a closure killed it.
constexpr Duration kAway = std::chrono::milliseconds(200);

absl::Status Failure(size_t number) {
  return absl::InvalidArgumentError(absl::StrCat("closure ", number, " fails"));
}

}  // namespace

ClosureRunner::ClosureRunner(ClosureContext& context, SimNode& node)
    : context_(context), node_(node), random_(node.NewRandom("runner")) {
  functions_.push_back(InfoOf(kStepFunction));
  functions_.push_back(InfoOf(kEvaluateFunction));
}

Task<absl::StatusOr<std::shared_ptr<void>>> ClosureRunner::Make(uint32_t,
                                                                InputContext) {
  co_return absl::UnimplementedError("there are no resources");
}

Task<absl::StatusOr<EncodedValue>> ClosureRunner::Run(
    uint32_t index, Step& step, const EncodedValue& arguments,
    const ResourceFinder&) {
  const ClosureCall call = DecodeCall(arguments);
  const size_t number = call.number;
  context_.world.trace().Add(node_.clock().Now(), node_.name(), "run", number,
                             step.id().step);
  if (!TensorIsRight(arguments) ||
      (index == kEvaluateFunction) != (call.kind == ClosureKind::kEvaluate)) {
    context_.judge.Violation(
        absl::StrCat("closure ", number, " was called with something else"));
  }
  context_.judge.OnRun(number);
  absl::Status status;
  if (random_.Chance(kByRows)) {
    status = co_await ReadByRows(step, number);
  } else {
    status = co_await Read(step, number);
  }
  if (!status.ok()) co_return status;
  status = co_await Compute(step);
  if (!status.ok()) co_return status;
  if (call.kind == ClosureKind::kPoison) {
    context_.judge.OnCrash(number);
    KillSoon(context_, node_, kAway);
    status = co_await step.Sleep(kAway);
    co_return status.ok() ? Failure(number) : status;
  }
  if (call.kind == ClosureKind::kFailEarly) co_return Failure(number);
  if (call.kind != ClosureKind::kEvaluate) {
    status = co_await Update(step, call);
    if (!status.ok()) co_return status;
  }
  co_return ResultOf(call);
}

Task<absl::Status> ClosureRunner::Read(Step& step, size_t number) {
  const ClosureVariables& variables = context_.variables;
  const size_t table = variables.TableOf(number);
  std::vector<std::string> names;
  names.push_back(variables.NameOf(DigitVariable::kDense, table));
  names.push_back(variables.NameOf(DigitVariable::kRows, table));
  const ClosureJudge::View view = context_.judge.OnReadBegin(table);
  const absl::StatusOr<std::vector<Tensor>> tensors =
      co_await step.Read(std::move(names));
  if (!tensors.ok()) co_return tensors.status();
  context_.judge.OnRead(view, table, DigitVariable::kDense,
                        (*tensors)[0].Values<float>(), number);
  context_.judge.OnRead(view, table, DigitVariable::kRows,
                        (*tensors)[1].Values<float>(), number);
  co_return absl::OkStatus();
}

Task<absl::Status> ClosureRunner::ReadByRows(Step& step, size_t number) {
  const ClosureVariables& variables = context_.variables;
  const size_t table = variables.TableOf(number);
  const ClosureJudge::View view = context_.judge.OnReadBegin(table);
  std::string name = variables.NameOf(DigitVariable::kRows, table);
  std::vector<int64_t> ids = variables.RowIds();
  const absl::StatusOr<Tensor> rows =
      co_await step.ReadRows(std::move(name), std::move(ids));
  if (!rows.ok()) co_return rows.status();
  const std::vector<float> values = variables.RowsInOrder(*rows);
  context_.judge.OnRead(view, table, DigitVariable::kRows, values, number);
  co_return absl::OkStatus();
}

Task<absl::Status> ClosureRunner::Compute(Step& step) {
  const ClosureOptions& options = context_.options;
  const Duration most =
      random_.Chance(options.stragglers) ? options.straggle : options.pause;
  const Duration pause(
      random_.Between(options.least_pause.count(), most.count()));
  const MonotonicTime since = node_.clock().Now();
  absl::Status status = co_await step.Sleep(pause);
  context_.judge.OnComputed(since);
  co_return status;
}

Task<absl::Status> ClosureRunner::Update(Step& step, ClosureCall call) {
  const size_t number = call.number;
  std::vector<ClosureVariables::Update> updates =
      context_.variables.UpdatesOf(number);
  for (size_t push = 0; push < updates.size(); ++push) {
    std::vector<DigitVariable> of;
    for (const VariableUpdate& update : updates[push]) {
      const bool dense = absl::StartsWith(update.variable, "dense");
      of.push_back(dense ? DigitVariable::kDense : DigitVariable::kRows);
      context_.judge.OnInvoke(number, of.back());
    }
    context_.world.trace().Add(node_.clock().Now(), node_.name(), "update",
                               number, push);
    ClosureVariables::Update update = std::move(updates[push]);
    const absl::StatusOr<UpdateResult> result =
        co_await step.Apply(Operation::kGradient, std::move(update));
    if (!result.ok()) co_return result.status();
    context_.world.trace().Add(node_.clock().Now(), node_.name(),
                               "acknowledged", number, result->applied);
    context_.judge.OnAck(number, push, of, *result);
    if (call.kind == ClosureKind::kFailLate) co_return Failure(number);
  }
  co_return absl::OkStatus();
}

}  // namespace capstan::simulate
