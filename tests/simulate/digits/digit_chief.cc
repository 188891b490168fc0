#include "simulate/digits/digit_chief.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "simulate/digits/digit_client.h"

namespace capstan::simulate {
namespace {

constexpr Duration kDigitTick = std::chrono::milliseconds(20);
constexpr Duration kWatermarkEvery = std::chrono::milliseconds(80);
// How many old updates are resent at the end.
constexpr int kLateCopies = 3;
// The chance that a coordinator is replaced just as it is about to commit, and
// how late its commit may then arrive.
constexpr double kReplacedAtCommit = 0.1;
constexpr Duration kLateCommit = std::chrono::milliseconds(200);

// The last request of a coordinator that has been replaced, over its own
// connections.
Task<> CommitLate(SimNode& node, std::shared_ptr<ParameterClient> client,
                  RoundRequest request, Duration delay) {
  std::unique_ptr<Timer> timer = node.clock().NewTimer(node.executor());
  const MonotonicTime until = node.clock().Now() + delay;
  co_await timer->SleepUntil(until);
  const UpdateOptions options;
  co_await client->Commit(std::move(request), options);
}

class DigitChief {
 public:
  DigitChief(DigitContext& context, SimNode& node)
      : context_(context),
        node_(node),
        client_(NewDigitClient(context, node, "chief", 0)),
        predecessor_(NewDigitClient(context, node, "chief", 1)),
        random_(node.NewRandom("chief")),
        timer_(node.clock().NewTimer(node.executor())),
        map_(context.variables.map()) {}

  Task<> Run() {
    co_await StartGeneration();
    next_generation_ = DrawTime(context_.options.generation_life);
    next_term_ = DrawTime(context_.options.term_life);
    while (!context_.finishing || !context_.ledger.AllOver()) {
      co_await CommitRound();
      co_await MoveWatermark();
      if (!context_.finishing) co_await ChangeRule();
      co_await Sleep(kDigitTick);
    }
    co_await End();
    context_.over = true;
  }

 private:
  MonotonicTime Now() { return node_.clock().Now(); }

  MonotonicTime DrawTime(Duration mean) {
    if (mean == Duration::zero()) return kNever;
    return Now() + Duration(random_.Between(1, 2 * mean.count()));
  }

  Task<> Sleep(Duration most) {
    const MonotonicTime until =
        Now() + Duration(random_.Between(1, most.count()));
    co_await timer_->SleepUntil(until);
  }

  UpdateOptions CallOptionsOf() const {
    UpdateOptions options;
    options.timeout = context_.options.timeout;
    return options;
  }

  // Starts the next rollback or the next coordinator when it is due.
  Task<> ChangeRule() {
    if (Now() >= next_generation_ && context_.ledger.HasRoomForGeneration()) {
      ++fence_.generation;
      map_ = NextMap();
      co_await StartGeneration();
      next_generation_ = DrawTime(context_.options.generation_life);
    }
    if (Now() >= next_term_) {
      co_await TakeOver();
      next_term_ = DrawTime(context_.options.term_life);
    }
  }

  // The same variables in the generation of `fence_`, one version later.
  ShardMap NextMap() const {
    const std::span<const VariableEntry> entries = map_.entries();
    return ShardMap::Make(
               fence_.generation, map_.version() + 1, map_.servers(),
               std::vector<VariableEntry>(entries.begin(), entries.end()),
               map_.next_id())
        .value();
  }

  Task<> Install() {
    absl::Status status = absl::UnknownError("");
    while (!status.ok()) {
      const Duration timeout = context_.options.timeout;
      status = co_await client_->Install(map_, fence_.term, 0, timeout);
      if (!status.ok()) {
        context_.judge.OnFailure(status);
        co_await Sleep(kDigitTick);
      }
    }
  }

  Task<> StartGeneration() {
    const Fence fence = fence_;
    context_.world.trace().Add(Now(), node_.name(), "generation",
                               fence.generation);
    context_.ledger.EndGeneration();
    context_.judge.OnGeneration(fence.generation,
                                context_.ledger.next_first_slot());
    // Workers of the old generation continue meanwhile.
    co_await Install();
    context_.ledger.StartGeneration(fence);
    context_.ledger.set_paused(false);
    watermark_ = 0;
  }

  // Like a coordinator that takes over from another: fences off the old one on
  // all servers, and then checks which of its steps took effect.
  Task<> TakeOver() {
    ++fence_.term;
    context_.ledger.set_paused(true);
    context_.world.trace().Add(Now(), node_.name(), "term", fence_.term);
    if (random_.Chance(0.5)) {
      map_ = NextMap();
      co_await Install();
    } else {
      co_await SetWatermark(0);
    }
    DigitValues values = context_.variables.NewValues();
    co_await ReadUntilRight(values, false);
    const bool committed = context_.judge.OnTakeover(fence_, values);
    if (!committed) context_.ledger.ForgetDecision();
    context_.ledger.StartTerm(fence_.term);
    context_.ledger.set_paused(false);
  }

  Task<> ReadUntilRight(DigitValues& values, bool drift) {
    ReadPlan plan;
    plan.drift = drift;
    absl::Status status = absl::UnknownError("");
    while (!status.ok()) {
      status = co_await ReadDigits(context_, *client_, plan, values);
      if (!status.ok()) co_await Sleep(kDigitTick);
    }
  }

  Task<> SetWatermark(uint64_t watermark) {
    WatermarkRequest request;
    request.fence = fence_;
    request.watermark = watermark;
    absl::Status status = absl::UnknownError("");
    while (!status.ok()) {
      const UpdateOptions options = CallOptionsOf();
      status = co_await client_->SetWatermark(request, options);
      if (!status.ok()) {
        context_.judge.OnFailure(status);
        co_await Sleep(kDigitTick);
      }
    }
  }

  Task<> MoveWatermark() {
    const uint64_t watermark = context_.ledger.Watermark();
    if (watermark <= watermark_ || Now() < next_watermark_) co_return;
    co_await SetWatermark(watermark);
    watermark_ = watermark;
    next_watermark_ = Now() + kWatermarkEvery;
  }

  Task<> CommitRound() {
    const std::optional<RoundDecision> decision = context_.ledger.NextCommit();
    if (!decision) co_return;
    RoundRequest request;
    request.fence = fence_;
    request.round = decision->round;
    request.replicas = decision->replicas;
    context_.world.trace().Add(Now(), node_.name(), "commit", decision->round);
    context_.judge.OnCommit(fence_, *decision);
    if (!context_.finishing && next_term_ != kNever &&
        random_.Chance(kReplacedAtCommit)) {
      const Duration delay(random_.Between(0, kLateCommit.count()));
      Spawn(node_.executor(), CommitLate(node_, predecessor_, request, delay));
      co_await TakeOver();
      co_return;
    }
    const UpdateOptions options = CallOptionsOf();
    const absl::Status status =
        co_await client_->Commit(std::move(request), options);
    if (!status.ok()) {
      // Some servers may have committed; the same decision is sent again.
      context_.judge.OnFailure(status);
      co_return;
    }
    context_.judge.OnCommitted(fence_, *decision);
    context_.ledger.Committed(decision->round);
  }

  // All steps are finished: nothing that arrives now may change anything.
  Task<> End() {
    const uint64_t steps = context_.ledger.num_steps();
    co_await SetWatermark(context_.ledger.Watermark());
    // A stale watermark that was overtaken on the way.
    co_await SetWatermark(0);
    for (uint32_t i = 0; i < client_->num_servers(); ++i) {
      co_await CheckStatus(i, steps);
    }
    for (int i = 0; i < kLateCopies && steps > 0; ++i) {
      co_await SendLateCopy(random_.Below(steps));
    }
    DigitValues values = context_.variables.NewValues();
    co_await ReadUntilRight(values, context_.variables.has_drift());
    context_.judge.OnEnd(steps, values);
  }

  Task<> CheckStatus(uint32_t server, uint64_t steps) {
    absl::StatusOr<StoreReport> report = absl::UnknownError("");
    while (!report.ok()) {
      const Duration timeout = context_.options.timeout;
      report = co_await client_->Status(server, timeout);
    }
    const uint64_t committed = context_.ledger.committed();
    if (report->watermark == steps && report->fence == fence_ &&
        report->committed_round == committed) {
      co_return;
    }
    context_.judge.Violation(absl::StrCat(
        "at the end server ", server, " is at step ", report->watermark, " of ",
        steps, ", round ", report->committed_round, " of ", committed,
        ", generation ", report->fence.generation, ", term ",
        report->fence.term));
  }

  // An update below the watermark, which no record contains any more.
  Task<> SendLateCopy(uint64_t index) {
    const auto pushes = static_cast<size_t>(context_.options.pushes);
    const size_t per_round = context_.options.per_round();
    Assignment assignment;
    assignment.fence = fence_;
    assignment.step = index + 1;
    if (per_round > 1) {
      assignment.round = index / per_round + 1;
      assignment.replica = static_cast<uint32_t>(index % per_round);
    }
    assignment.first_slot =
        context_.ledger.first_slot() + static_cast<size_t>(index) * pushes;
    const auto push = static_cast<uint32_t>(random_.Below(pushes));
    const absl::StatusOr<UpdateResult> summary =
        co_await SendUpdate(context_, node_, *client_, assignment, push);
    if (summary.ok() && summary->applied + summary->staged > 0) {
      context_.judge.Violation(absl::StrCat(
          "step ", assignment.step, ", which is over, was applied again"));
    }
  }

  DigitContext& context_;
  SimNode& node_;
  const std::unique_ptr<ParameterClient> client_;
  const std::shared_ptr<ParameterClient> predecessor_;
  Random random_;
  const std::unique_ptr<Timer> timer_;
  ShardMap map_;
  Fence fence_ = {.generation = 1, .term = 1};
  uint64_t watermark_ = 0;
  MonotonicTime next_watermark_ = MonotonicTime::min();
  MonotonicTime next_generation_ = kNever;
  MonotonicTime next_term_ = kNever;
};

}  // namespace

Task<> RunDigitChief(DigitContext& context, SimNode& node) {
  DigitChief chief(context, node);
  co_await chief.Run();
}

}  // namespace capstan::simulate
