#include <algorithm>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "capstan/program.h"
#include "launch/coordinator_task.h"
#include "launch/make_cluster.h"
#include "launch/member_task.h"
#include "launch/system/machine_facts.h"
#include "launch/system/server_memory.h"
#include "transport/inproc/inproc_network.h"

namespace capstan {
namespace {

constexpr int kMaxTasks = 1000;

ClusterSpec Spec(int workers, int servers) {
  if (workers < 1 || servers < 1 || workers > kMaxTasks ||
      servers > kMaxTasks) {
    throw Error(ErrorCode::kInvalidArgument,
                absl::StrCat("a local cluster has 1 to ", kMaxTasks,
                             " workers and as many servers, not ", workers,
                             " and ", servers));
  }
  std::map<Role, std::vector<std::string>> addresses;
  addresses[Role::kChief] = {"inproc:chief-0"};
  for (int i = 0; i < workers; ++i) {
    addresses[Role::kWorker].push_back(absl::StrCat("inproc:worker-", i));
  }
  for (int i = 0; i < servers; ++i) {
    addresses[Role::kPs].push_back(absl::StrCat("inproc:ps-", i));
  }
  return ClusterSpec(addresses);
}

TaskOptions Options(const ClusterSpec& spec, TaskId task) {
  TaskOptions options;
  options.cluster.spec = spec;
  options.cluster.task = task;
  options.cluster.job_id = "local";
  options.cluster.source = "LocalCluster";
  options.log_level = LogLevel::kWarning;
  // The workers share the cores.
  const auto cores = static_cast<int>(std::thread::hardware_concurrency());
  options.compute_threads = std::max(1, cores / spec.num_tasks(Role::kWorker));
  // And the servers share the memory.
  if (task.role == Role::kPs) {
    options.memory_bytes =
        ServerMemory(ReadMachineFacts("."), spec.num_tasks(Role::kPs));
  }
  return options;
}

}  // namespace

struct LocalCluster::Impl {
  std::shared_ptr<InprocNetwork> network = std::make_shared<InprocNetwork>();
  std::vector<std::unique_ptr<MemberTask>> members;
  std::vector<std::thread> joins;
  std::unique_ptr<CoordinatorTask> coordinator;
  std::unique_ptr<Cluster> cluster;

  ~Impl() {
    cluster = nullptr;
    if (coordinator != nullptr) coordinator->End().IgnoreError();
    coordinator = nullptr;
    // Members that End could not reach.
    for (const auto& member : members) member->Stop();
    for (std::thread& join : joins) join.join();
  }
};

LocalCluster::LocalCluster(int workers, int servers)
    : LocalCluster(Definitions(), workers, servers) {}

LocalCluster::LocalCluster(const Definitions& definitions, int workers,
                           int servers)
    : impl_(std::make_unique<Impl>()) {
  const std::shared_ptr<const DefinitionList> functions =
      DefinitionsReader::Freeze(definitions);
  const ClusterSpec spec = Spec(workers, servers);
  for (const TaskId& task : spec.tasks()) {
    if (task.role == Role::kChief) continue;
    impl_->members.push_back(ValueOrThrow(
        MemberTask::Start(Options(spec, task), functions, impl_->network)));
  }
  for (const auto& member : impl_->members) {
    impl_->joins.emplace_back([&task = *member] { task.Join().IgnoreError(); });
  }
  impl_->coordinator = ValueOrThrow(CoordinatorTask::Start(
      Options(spec, {Role::kChief, 0}), functions, nullptr, impl_->network));
  ThrowIfError(impl_->coordinator->AwaitAll());
  impl_->cluster = ClusterMaker::Make(*impl_->coordinator);
}

LocalCluster::~LocalCluster() = default;

Cluster& LocalCluster::cluster() noexcept { return *impl_->cluster; }

}  // namespace capstan
