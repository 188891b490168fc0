#include "membership/sim_job.h"

#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "membership/membership_service.h"
#include "transport/peer_channel.h"
#include "transport/server.h"
#include "wire/probe_service.h"

namespace capstan::testing {
namespace {

bool IsCoordinator(const std::string& name) {
  return name == "chief/0" || name == "rival";
}

}  // namespace

SimJob::SimJob(uint64_t seed, int workers, int servers)
    : logger_(log_.NewLogger()), world_(seed) {
  ClusterSpec::Jobs jobs;
  const auto add = [&](Role role, int count) {
    for (int i = 0; i < count; ++i) {
      const std::string task = TaskId{role, i}.ToString();
      const std::string machine = absl::StrCat(std::string(RoleName(role)), i);
      jobs[role][i] = absl::StrCat(machine, ":7077");
      nodes_[task] = &world_.AddNode(machine);
    }
  };
  add(Role::kChief, 1);
  add(Role::kPs, servers);
  add(Role::kWorker, workers);
  nodes_["rival"] = &world_.AddNode("rival");
  spec_ = ClusterSpec::FromDict(jobs);
}

void SimJob::Start(const std::string& name) {
  world_.Start(node(name), [this, name](SimNode& node) {
    return IsCoordinator(name) ? RunCoordinator(node, name)
                               : RunMember(node, name);
  });
}

void SimJob::StartAll() {
  for (const auto& [name, node] : nodes_) {
    if (name != "rival") Start(name);
  }
}

bool SimJob::RunUntil(const std::function<bool()>& done) {
  return world_.RunUntil(done,
                         world_.clock().Now() + std::chrono::minutes(5)) ==
         SimWorld::Result::kDone;
}

TaskEntry SimJob::Entry(const std::string& task,
                        const std::string& coordinator) {
  Coordinator& mine = coordinators_[coordinator];
  if (mine.roster != nullptr) mine.report = mine.roster->Report();
  for (const TaskEntry& entry : mine.report.tasks) {
    if (entry.task == task) return entry;
  }
  return {};
}

const Office& SimJob::office(const std::string& coordinator) {
  Entry("", coordinator);
  return coordinators_[coordinator].report.office;
}

Hello SimJob::Identity(SimNode& node, const std::string& name) {
  const TaskId task = TaskId::Parse(name == "rival" ? "chief/0" : name);
  Hello hello;
  hello.version = "1";
  hello.job = job_of.contains(name) ? job_of[name] : "job";
  hello.role = std::string(RoleName(task.role));
  hello.index = static_cast<uint32_t>(task.index);
  hello.incarnation = node.NewRandom("incarnation").NextU64();
  return hello;
}

Task<> SimJob::RunMember(SimNode& node, std::string name) {
  MemberOptions options = member_options;
  options.self = Identity(node, name);
  Member member(node.clock(), logger_.WithPrefix(name), node.executor(),
                options);
  ProbeService probe;
  MembershipAnswers answers;
  answers.task = [&member] { return member.Report(); };
  answers.member = &member;
  MembershipService service(options.self.role, answers, probe);
  ServerOptions server_options;
  server_options.self = options.self;
  const std::string address =
      absl::StrCat("sim:", spec_.task_address(TaskId::Parse(name)));
  absl::StatusOr<std::unique_ptr<Server>> server =
      Server::Start(node.clock(), node.network(), logger_, service,
                    {node.executor()}, address, server_options);
  if (!server.ok()) {
    ended_[name] = server.status();
    co_return;
  }
  absl::Status status = co_await member.Run();
  ended_[name] = std::move(status);
  const MonotonicTime deadline = node.clock().Now() + std::chrono::seconds(1);
  co_await (*server)->Shutdown(deadline);
}

Task<> SimJob::RunCoordinator(SimNode& node, std::string name) {
  Coordinator& mine = coordinators_[name];
  RosterOptions options = roster_options;
  options.self = Identity(node, name);
  options.on_deposed = [&mine](const absl::Status& status) {
    mine.deposed = status;
  };
  Random random = node.NewRandom("channels");
  const auto new_channel = [&](const TaskId& task, const std::string& address) {
    ChannelOptions channel;
    channel.self = options.self;
    channel.address = absl::StrCat("sim:", address);
    channel.expected_task = task.ToString();
    channel.backoff.max = Roster::kMaxBackoff;
    return NewPeerChannel(node.clock(), node.network(), logger_,
                          random.Fork(task.ToString()), node.executor(),
                          channel);
  };
  Roster roster(node.clock(), logger_.WithPrefix(name), node.executor(), spec_,
                options, new_channel);
  mine.roster = &roster;
  // Also when the node crashes.
  const absl::Cleanup gone = [&mine] { mine.roster = nullptr; };
  roster.Start();
  absl::Status awaited = co_await roster.AwaitAll(start_timeout);
  mine.awaited = std::move(awaited);
  std::unique_ptr<Timer> timer = node.clock().NewTimer(node.executor());
  while (!mine.end && !mine.deposed) {
    const MonotonicTime next =
        node.clock().Now() + std::chrono::milliseconds(10);
    co_await timer->SleepUntil(next);
  }
  if (mine.deposed) co_return;
  absl::Status told = co_await roster.End();
  mine.told = std::move(told);
}

}  // namespace capstan::testing
