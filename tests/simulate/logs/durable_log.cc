#include "simulate/logs/durable_log.h"

#include <algorithm>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "simulate/cluster.h"
#include "simulate/logs/durable_store.h"
#include "simulate/logs/log_judge.h"
#include "simulate/requests/request_plan.h"
#include "transport/peer_channel.h"
#include "transport/server.h"

namespace capstan::simulate {
namespace {

constexpr char kLogName[] = "log";
constexpr char kLogAddress[] = "sim:log:7000";
constexpr Duration kRetry = std::chrono::milliseconds(50);

struct DurableLogOptions {
  int writers = 2;
  // How long a writer waits between two records at most, and how long the log
  // waits for more records before it syncs.
  Duration pause = std::chrono::milliseconds(30);
  Duration gather = std::chrono::milliseconds(5);
};

// One life of the log: records arrive, are appended, and are acknowledged once
// durable. Several are in progress at once.
class LogService final : public Service {
 public:
  LogService(SimNode& node, DurableStore& store, Duration gather)
      : node_(node),
        store_(store),
        gather_(gather),
        random_(node.NewRandom("gather")) {}

  Task<ServerReply> Serve(ServerCall& call) override {
    ServerReply reply;
    const std::optional<uint64_t> value = TokenOf(call.body());
    if (!value) {
      reply.status = absl::InvalidArgumentError("not a record");
      co_return reply;
    }
    const absl::StatusOr<DurableStore::Place> place = store_.Append(*value);
    reply.status = place.status();
    if (!place.ok()) co_return reply;
    std::unique_ptr<Timer> timer = node_.clock().NewTimer(node_.executor());
    const MonotonicTime until =
        node_.clock().Now() + Duration(random_.Between(0, gather_.count()));
    co_await timer->SleepUntil(until);
    reply.status = store_.Sync(*place);
    co_return reply;
  }

 private:
  SimNode& node_;
  DurableStore& store_;
  const Duration gather_;
  Random random_;
};

class DurableLog final : public Workload {
 public:
  DurableLog(DurableLogOptions options, Plant plant)
      : options_(options), plant_(plant) {}

  void Start(SimWorld& world, Violations& violations) override {
    world_ = &world;
    judge_ = std::make_unique<LogJudge>(world, violations);
    log_ = &world.AddNode(kLogName);
    world.Start(*log_, [this](SimNode& node) { return RunLog(node); });
    done_.assign(static_cast<size_t>(options_.writers), false);
    for (size_t i = 0; i < done_.size(); ++i) {
      SimNode& writer = world.AddNode(absl::StrCat("writer", i));
      world.Start(writer,
                  [this, i](SimNode& node) { return RunWriter(node, i); });
    }
  }

  void Finish() override { finishing_ = true; }

  // When the writers are done, the power fails once more, and the log must find
  // everything.
  bool finished() override {
    if (!std::all_of(done_.begin(), done_.end(), [](bool b) { return b; })) {
      return false;
    }
    if (last_recovery_ == 0) {
      last_recovery_ = judge_->recoveries() + 1;
      world_->Crash(*log_, SimCrash::kMachine);
      world_->Restart(*log_);
    }
    return judge_->recoveries() >= last_recovery_;
  }

  std::string Progress() const override {
    for (size_t i = 0; i < done_.size(); ++i) {
      if (!done_[i]) {
        return absl::StrCat("writer", i, " gets no record acknowledged");
      }
    }
    return "the log does not open";
  }

  void Check() override {}
  const Tally& tally() const override { return judge_->tally(); }

 private:
  Task<> RunLog(SimNode& node);
  Task<> RunWriter(SimNode& node, size_t index);
  Task<bool> AppendOne(SimNode& node, Channel& channel);

  const DurableLogOptions options_;
  const Plant plant_;
  SimWorld* world_ = nullptr;
  SimNode* log_ = nullptr;
  std::unique_ptr<LogJudge> judge_;
  std::deque<bool> done_;
  bool finishing_ = false;
  uint64_t last_recovery_ = 0;
};

Task<> DurableLog::RunLog(SimNode& node) {
  std::unique_ptr<Timer> timer = node.clock().NewTimer(node.executor());
  absl::StatusOr<std::unique_ptr<DurableStore>> store =
      DurableStore::Open(node.files(), plant_);
  // The disk may fail here too; then Open is retried.
  while (!store.ok()) {
    const MonotonicTime again = node.clock().Now() + kRetry;
    co_await timer->SleepUntil(again);
    store = DurableStore::Open(node.files(), plant_);
  }
  judge_->OnRecovered((*store)->found());
  LogService service(node, **store, options_.gather);
  ServerOptions options;
  options.self = HelloOf(node, kLogName, 0);
  std::vector<Executor> executors = {node.executor()};
  absl::StatusOr<std::unique_ptr<Server>> server =
      Server::Start(node.clock(), node.network(), node.logger(), service,
                    std::move(executors), kLogAddress, std::move(options));
  // Serves until the process is killed.
  co_await timer->SleepUntil(kNever);
}

Task<bool> DurableLog::AppendOne(SimNode& node, Channel& channel) {
  const uint64_t value = judge_->OnSend();
  world_->trace().Add(node.clock().Now(), node.name(), "append", value);
  std::string body = MakeBody(value, kRequestBody, 0);
  std::vector<Bytes> attachments;
  CallOptions options;
  options.timeout = std::chrono::seconds(2);
  absl::StatusOr<Reply> reply =
      co_await channel.Call(Method::kProbeEcho, std::move(body),
                            std::move(attachments), std::move(options));
  if (reply.ok()) judge_->OnAcknowledged(value);
  if (absl::IsDeadlineExceeded(reply.status())) ++judge_->tally().late;
  if (absl::IsUnavailable(reply.status())) ++judge_->tally().lost;
  co_return reply.ok();
}

Task<> DurableLog::RunWriter(SimNode& node, size_t index) {
  ChannelOptions options;
  options.self = HelloOf(node, "writer", index);
  options.address = kLogAddress;
  options.expected_task = "log/0";
  options.connect_timeout = std::chrono::seconds(1);
  options.backoff.max = std::chrono::milliseconds(500);
  std::unique_ptr<Channel> channel = NewPeerChannel(
      node.clock(), node.network(), node.logger(), node.NewRandom("channel"),
      node.executor(), std::move(options));
  Random random = node.NewRandom("writer");
  std::unique_ptr<Timer> timer = node.clock().NewTimer(node.executor());
  bool acknowledged = false;
  // The last record, written after the faults, must be acknowledged.
  while (!finishing_ || !acknowledged) {
    const bool last = finishing_;
    const bool appended = co_await AppendOne(node, *channel);
    acknowledged = last && appended;
    const MonotonicTime next =
        node.clock().Now() +
        Duration(random.Between(0, options_.pause.count()));
    co_await timer->SleepUntil(next);
  }
  co_await channel->Close();
  done_[index] = true;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Workload>> NewDurableLog(
    const Scenario& scenario, uint64_t seed, Plant plant) {
  (void)seed;
  StrictMap map(scenario.parameters,
                absl::StrCat(scenario.path, ": parameters"));
  DurableLogOptions options;
  map.Read("writers", options.writers, 1, 100);
  map.Read("pause", options.pause);
  map.Read("gather", options.gather);
  CAPSTAN_RETURN_IF_ERROR(map.Finish());
  return std::make_unique<DurableLog>(options, plant);
}

}  // namespace capstan::simulate
