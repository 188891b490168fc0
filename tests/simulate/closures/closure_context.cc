#include "simulate/closures/closure_context.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "simulate/closures/faulty_closures.h"
#include "simulate/cluster.h"
#include "transport/peer_channel.h"

namespace capstan::simulate {
namespace {

// How late the roster's news may be.
constexpr Duration kMostNews = std::chrono::milliseconds(300);
// The chance that the roster misses a worker's short absence.
constexpr double kNoNews = 0.2;

// Delivers the news of a worker in order.
void SendNews(ClosureContext& context, ClosureContext::News& news) {
  const Duration delay(context.random.Between(0, kMostNews.count()));
  const MonotonicTime now = context.world.clock().Now();
  news.last = std::max(news.last, now + delay);
  context.world.clock().ScheduleAfter(news.last - now,
                                      [&context, entry = *news.entry] {
                                        if (context.on_task)
                                          context.on_task(entry);
                                      });
}

}  // namespace

std::string ClosureServerAddress(size_t index) {
  return absl::StrCat("sim:server", index, ":7000");
}
std::string ClosureWorkerAddress(size_t index) {
  return absl::StrCat("sim:worker", index, ":7000");
}
std::string ClosureWorkerTask(size_t index) {
  return absl::StrCat("worker/", index);
}

std::unique_ptr<Channel> NewClosureChannel(
    SimNode& node, const std::string& role, size_t index,
    const std::string& task, const std::string& address, bool fail_if_refused) {
  ChannelOptions options;
  options.fail_if_refused = fail_if_refused;
  options.self = HelloOf(node, role, index);
  options.address = address;
  options.expected_task = task;
  options.connect_timeout = std::chrono::seconds(1);
  options.backoff.max = std::chrono::milliseconds(500);
  const Random random = node.NewRandom("channels").Fork(task);
  return NewPeerChannel(node.clock(), node.network(), node.logger(), random,
                        node.executor(), std::move(options));
}

std::unique_ptr<ParameterClient> NewClosureClient(ClosureContext& context,
                                                  SimNode& node,
                                                  const std::string& role,
                                                  size_t index) {
  std::vector<std::unique_ptr<Channel>> channels;
  for (size_t i = 0; i < static_cast<size_t>(context.options.servers); ++i) {
    channels.push_back(NewFaultyServerChannel(
        NewClosureChannel(node, role, index, absl::StrCat("ps/", i),
                          ClosureServerAddress(i)),
        context.plant));
  }
  BackoffOptions backoff;
  backoff.max = std::chrono::milliseconds(500);
  return std::make_unique<ParameterClient>(node.clock(), node.executor(),
                                           std::move(channels),
                                           node.NewRandom("client"), backoff);
}

void TellOfWorker(ClosureContext& context, size_t index, TaskState state,
                  uint64_t incarnation) {
  ClosureContext::News& news = context.news[index];
  const bool unnoticed = context.random.Chance(kNoNews);
  if (state == TaskState::kRestarted && !news.left && unnoticed) return;
  news.left = state == TaskState::kMissing;
  TaskEntry entry;
  entry.task = ClosureWorkerTask(index);
  entry.address = ClosureWorkerAddress(index);
  entry.state = state;
  entry.report.task = entry.task;
  entry.report.incarnation = incarnation;
  news.entry = entry;
  SendNews(context, news);
}

void TellOfAllWorkers(ClosureContext& context) {
  for (ClosureContext::News& news : context.news) {
    if (news.entry) SendNews(context, news);
  }
}

void KillSoon(ClosureContext& context, SimNode& node, Duration away) {
  const Duration wait(context.random.Between(1, away.count()));
  const uint64_t life = node.incarnation();
  context.world.clock().ScheduleAfter(
      Duration::zero(), [&context, &node, life, wait] {
        if (!node.running() || node.incarnation() != life) return;
        context.world.Crash(node, SimCrash::kProcess);
        context.world.clock().ScheduleAfter(
            wait, [&context, &node] { context.world.Restart(node); });
      });
}

}  // namespace capstan::simulate
