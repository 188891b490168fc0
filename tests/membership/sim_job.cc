#include "membership/sim_job.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "membership/membership_service.h"
#include "testing/status_matchers.h"
#include "transport/peer_channel.h"
#include "transport/server.h"
#include "wire/probe_service.h"

namespace capstan::testing {
namespace {

bool IsCoordinator(const std::string& name) {
  return name == "chief/0" || name == "rival";
}

bool IsSameState(const TaskEntry& a, const TaskEntry& b) {
  return a.task == b.task && a.state == b.state &&
         a.report.incarnation == b.report.incarnation;
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

void SimJob::StartJoining(const std::string& machine) {
  nodes_[machine] = &world_.AddNode(machine);
  world_.Start(node(machine), [this, machine](SimNode& node) {
    return RunJoiner(node, machine);
  });
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

const CoordinatorTerm& SimJob::coordinator_term(
    const std::string& coordinator) {
  Entry("", coordinator);
  return coordinators_[coordinator].report.coordinator_term;
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
  Hello self = Identity(node, name);
  std::string address =
      absl::StrCat("sim:", spec_.task_address(TaskId::Parse(name)));
  co_await Serve(node, std::move(name), std::move(self), std::move(address));
}

Task<> SimJob::RunJoiner(SimNode& node, std::string machine) {
  const std::string address = absl::StrCat(machine, ":7077");
  std::unique_ptr<Timer> timer = node.clock().NewTimer(node.executor());
  for (;;) {
    absl::StatusOr<JoinReply> reply = co_await AskToJoin(node, address);
    if (reply.ok()) {
      joined_as_[machine] = reply->task;
      const ClusterSpec cluster = ClusterSpec::FromJson(reply->cluster);
      EXPECT_NO_THROW(cluster.Validate());
      EXPECT_EQ(cluster.task_address(TaskId::Parse(reply->task)), address);
      Hello self = Identity(node, reply->task);
      std::string listen = absl::StrCat("sim:", address);
      co_await Serve(node, std::move(machine), std::move(self),
                     std::move(listen));
      co_return;
    }
    if (!absl::IsUnavailable(reply.status()) &&
        !absl::IsDeadlineExceeded(reply.status())) {
      turned_away_[machine] = reply.status();
      co_return;
    }
    const MonotonicTime again =
        node.clock().Now() + std::chrono::milliseconds(100);
    co_await timer->SleepUntil(again);
  }
}

Task<absl::StatusOr<JoinReply>> SimJob::AskToJoin(SimNode& node,
                                                  std::string address) {
  ChannelOptions channel_options;
  channel_options.self = Identity(node, "worker/0");
  channel_options.address = "sim:chief0:7077";
  channel_options.expected_task = "chief/0";
  std::unique_ptr<Channel> channel =
      NewPeerChannel(node.clock(), node.network(), logger_,
                     node.NewRandom("join"), node.executor(), channel_options);
  CallOptions options;
  options.timeout = std::chrono::seconds(1);
  std::string body = EncodeJoinRequest({std::move(address)});
  std::vector<Bytes> attachments;
  absl::StatusOr<Reply> reply =
      co_await channel->Call(Method::kJobJoin, std::move(body),
                             std::move(attachments), std::move(options));
  co_await channel->Close();
  if (!reply.ok()) co_return reply.status();
  co_return DecodeJoinReply(reply->body);
}

Task<> SimJob::Serve(SimNode& node, std::string name, Hello self,
                     std::string address) {
  MemberOptions options = member_options;
  options.self = std::move(self);
  if (definitions_of.contains(name)) {
    options.definitions =
        std::make_shared<const ProgramDefinitions>(definitions_of[name]);
  }
  Member member(node.clock(), logger_.WithPrefix(name), node.executor(),
                options);
  ProbeService probe;
  MembershipAnswers answers;
  answers.task = [&member] { return member.Report(); };
  answers.member = &member;
  MembershipService service(options.self.role, answers, probe);
  ServerOptions server_options;
  server_options.self = options.self;
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
  const std::string listen = name == "rival" ? "rival:7077" : "chief0:7077";
  options.address = listen;
  options.on_deposed = [&mine](const absl::Status& status) {
    mine.deposed = status;
  };
  options.on_change = [&mine](const TaskEntry& entry) {
    // It shows in the report already, which must not be locked now.
    mine.report = mine.roster->Report();
    const bool has_left = entry.error == "has left the job";
    EXPECT_EQ(has_left,
              std::none_of(mine.report.tasks.begin(), mine.report.tasks.end(),
                           [&](const TaskEntry& known) {
                             return IsSameState(known, entry);
                           }));
    mine.changes.push_back(
        absl::StrCat(entry.task, " ", std::string(TaskStateName(entry.state))));
  };
  Random random = node.NewRandom("channels");
  const auto new_channel = [&](const TaskId& task, const std::string& address) {
    ChannelOptions channel;
    channel.self = options.self;
    channel.address = absl::StrCat("sim:", address);
    channel.expected_task = task.ToString();
    channel.backoff.max = Roster::kMaxBackoff;
    channel.fail_if_refused = true;
    return NewPeerChannel(node.clock(), node.network(), logger_,
                          random.Fork(task.ToString()), node.executor(),
                          channel);
  };
  Roster roster(node.clock(), logger_.WithPrefix(name), node.executor(), spec_,
                options, new_channel);
  mine.roster = &roster;
  // Also when the node crashes.
  const absl::Cleanup gone = [&mine] { mine.roster = nullptr; };
  ProbeService probe;
  MembershipAnswers answers;
  answers.task = [] { return TaskReport(); };
  answers.join = [&](const JoinRequest& request) -> absl::StatusOr<JoinReply> {
    const absl::StatusOr<TaskId> task = roster.Join(request.address);
    if (!task.ok()) return task.status();
    return JoinReply{task->ToString(), options.self.job,
                     roster.Spec().ToJson()};
  };
  MembershipService service(options.self.role, answers, probe);
  ServerOptions server_options;
  server_options.self = options.self;
  const absl::StatusOr<std::unique_ptr<Server>> server = Server::Start(
      node.clock(), node.network(), logger_, service, {node.executor()},
      absl::StrCat("sim:", listen), server_options);
  EXPECT_OK(server);
  roster.Start();
  absl::Status awaited = co_await roster.AwaitAll(start_timeout);
  mine.awaited = std::move(awaited);
  if (!mine.awaited->ok()) co_return;
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
