#include "cluster/slurm_resolver.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/status.h"
#include "cluster/cluster_spec.h"
#include "cluster/resolve.h"
#include "cluster/slurm_node_list.h"
#include "cluster/text.h"

namespace capstan {
namespace {

constexpr char kProcId[] = "SLURM_PROCID";
constexpr char kNumTasks[] = "SLURM_STEP_NUM_TASKS";
constexpr char kNodeList[] = "SLURM_STEP_NODELIST";
constexpr char kTasksPerNode[] = "SLURM_STEP_TASKS_PER_NODE";
constexpr char kAdvice[] = "start the program with srun";
constexpr int kDefaultPortBase = 8888;

// Where Slurm runs a task: the node's number, and the task's number on the
// node.
struct SlurmPlace {
  int node;
  int local;

  bool operator==(const SlurmPlace&) const = default;
};

// What the variables say about the step.
struct Step {
  std::vector<std::string> hosts;
  std::vector<int> tasks_per_node;
  int num_tasks = 0;
  int rank = 0;                    // of this process
  std::vector<SlurmPlace> places;  // by rank
  std::string distribution;        // "block" or "cyclic"
};

// How many of each, besides the one chief.
struct Counts {
  int ps = 0;
  int workers = 0;
  int evaluators = 0;
};

absl::StatusOr<int> RequireNumber(const Environment& environment,
                                  std::string_view name, int least, int most) {
  const absl::StatusOr<std::optional<int>> number =
      NumberVariable(environment, name, least, most);
  CAPSTAN_RETURN_IF_ERROR(number.status());
  if (number->has_value()) return **number;
  return RequireVariable(environment, name, kAdvice).status();
}

absl::Status ReadSizes(const Environment& environment, Step& step) {
  const absl::StatusOr<int> num_tasks =
      RequireNumber(environment, kNumTasks, 1, kMaxSlurmList);
  CAPSTAN_RETURN_IF_ERROR(num_tasks.status());
  step.num_tasks = *num_tasks;
  const absl::StatusOr<int> rank =
      RequireNumber(environment, kProcId, 0, step.num_tasks - 1);
  CAPSTAN_RETURN_IF_ERROR(rank.status());
  step.rank = *rank;
  return absl::OkStatus();
}

absl::Status ReadNodes(const Environment& environment, Step& step) {
  const absl::StatusOr<std::string> list =
      RequireVariable(environment, kNodeList, kAdvice);
  CAPSTAN_RETURN_IF_ERROR(list.status());
  absl::StatusOr<std::vector<std::string>> hosts = ExpandNodeList(*list);
  if (!hosts.ok()) return WithContext(hosts.status(), kNodeList);
  const absl::StatusOr<std::string> tasks =
      RequireVariable(environment, kTasksPerNode, kAdvice);
  CAPSTAN_RETURN_IF_ERROR(tasks.status());
  absl::StatusOr<std::vector<int>> counts = ExpandTasksPerNode(*tasks);
  if (!counts.ok()) return WithContext(counts.status(), kTasksPerNode);
  if (hosts->size() != counts->size()) {
    return absl::FailedPreconditionError(
        fmt::format("{}={} names {}, but {}={} counts {}", kNodeList, *list,
                    Counted(hosts->size(), "node"), kTasksPerNode, *tasks,
                    Counted(counts->size(), "node")));
  }
  const int total = std::accumulate(counts->begin(), counts->end(), 0);
  if (total != step.num_tasks) {
    return absl::FailedPreconditionError(
        fmt::format("{}={} adds up to {} tasks, but {}={}", kTasksPerNode,
                    *tasks, total, kNumTasks, step.num_tasks));
  }
  step.hosts = *std::move(hosts);
  step.tasks_per_node = *std::move(counts);
  return absl::OkStatus();
}

// The places by rank: nodes filled one after the other, or cyclically.
std::vector<SlurmPlace> PlaceTasks(const std::vector<int>& tasks_per_node,
                                   bool cyclic) {
  std::vector<SlurmPlace> places;
  for (int node = 0; node < static_cast<int>(tasks_per_node.size()); ++node) {
    const int tasks = tasks_per_node[static_cast<size_t>(node)];
    for (int local = 0; local < tasks; ++local) places.push_back({node, local});
  }
  if (cyclic) {
    std::stable_sort(places.begin(), places.end(),
                     [](const SlurmPlace& a, const SlurmPlace& b) {
                       return a.local < b.local;
                     });
  }
  return places;
}

// Slurm does not say where every task runs, but it does for this one.
absl::Status CheckPlace(const Environment& environment, const Step& step) {
  const SlurmPlace place = step.places[static_cast<size_t>(step.rank)];
  const absl::StatusOr<int> node = GivenOrVariable(
      {}, environment, "SLURM_NODEID", place.node, 0, kMaxSlurmList);
  CAPSTAN_RETURN_IF_ERROR(node.status());
  const absl::StatusOr<int> local = GivenOrVariable(
      {}, environment, "SLURM_LOCALID", place.local, 0, kMaxSlurmList);
  CAPSTAN_RETURN_IF_ERROR(local.status());
  if (place == SlurmPlace{*node, *local}) return absl::OkStatus();
  return absl::FailedPreconditionError(fmt::format(
      "task {} runs on node {} as its task {} (SLURM_NODEID, SLURM_LOCALID), "
      "but a {} distribution puts it on node {} as its task {}: use srun "
      "--distribution=block or cyclic",
      step.rank, *node, *local, step.distribution, place.node, place.local));
}

absl::Status ReadPlaces(const Environment& environment, Step& step) {
  // Such as "cyclic:block:block"; the parts after the first concern cores.
  const std::string full =
      environment.Get("SLURM_DISTRIBUTION").value_or("block");
  const std::string nodes = full.substr(0, full.find_first_of(":,"));
  // Without -m, Slurm fills the nodes in blocks.
  const bool block = nodes == "block" || nodes == "unknown" || nodes == "*";
  if (!block && nodes != "cyclic" &&
      *std::max_element(step.tasks_per_node.begin(),
                        step.tasks_per_node.end()) > 1) {
    return absl::FailedPreconditionError(
        fmt::format("SLURM_DISTRIBUTION={} does not say on which node each "
                    "task is: use srun --distribution=block or cyclic",
                    full));
  }
  step.distribution = nodes == "cyclic" ? "cyclic" : "block";
  step.places = PlaceTasks(step.tasks_per_node, nodes == "cyclic");
  return CheckPlace(environment, step);
}

absl::StatusOr<Counts> ReadCounts(const Environment& environment,
                                  const TaskCounts& given, int num_tasks) {
  if (num_tasks < 3) {
    return absl::FailedPreconditionError(
        fmt::format("the step has {}, but a cluster needs at least 3 (chief, "
                    "ps, worker): use srun -n 3 or more",
                    Counted(static_cast<size_t>(num_tasks), "task")));
  }
  const absl::StatusOr<int> ps =
      GivenOrVariable(given.ps, environment, "CAPSTAN_PS", 1, 1, kMaxSlurmList);
  CAPSTAN_RETURN_IF_ERROR(ps.status());
  const absl::StatusOr<int> evaluators = GivenOrVariable(
      given.evaluators, environment, "CAPSTAN_EVALUATORS", 0, 0, 1);
  CAPSTAN_RETURN_IF_ERROR(evaluators.status());
  const int left = num_tasks - 1 - *ps - *evaluators;
  const absl::StatusOr<int> workers =
      GivenOrVariable(given.workers, environment, "CAPSTAN_WORKERS",
                      std::max(left, 1), 1, kMaxSlurmList);
  CAPSTAN_RETURN_IF_ERROR(workers.status());
  const Counts counts{*ps, *workers, *evaluators};
  if (counts.workers == left) return counts;
  return absl::FailedPreconditionError(fmt::format(
      "1 chief, {} ps (CAPSTAN_PS), {} (CAPSTAN_WORKERS) and {} "
      "(CAPSTAN_EVALUATORS) make {} tasks, but the step has {}: use srun -n {}",
      counts.ps, Counted(static_cast<size_t>(counts.workers), "worker"),
      Counted(static_cast<size_t>(counts.evaluators), "evaluator"),
      num_tasks - left + counts.workers, num_tasks,
      num_tasks - left + counts.workers));
}

// The task of each rank, in order.
std::vector<TaskId> AssignRoles(const Counts& counts) {
  std::vector<TaskId> tasks = {{Role::kChief, 0}};
  for (int i = 0; i < counts.ps; ++i) tasks.push_back({Role::kPs, i});
  for (int i = 0; i < counts.workers; ++i) tasks.push_back({Role::kWorker, i});
  for (int i = 0; i < counts.evaluators; ++i) {
    tasks.push_back({Role::kEvaluator, i});
  }
  return tasks;
}

absl::StatusOr<ClusterSpec> MakeSpec(const Step& step,
                                     const std::vector<TaskId>& tasks,
                                     int port_base) {
  ClusterSpec::Jobs jobs;
  for (size_t rank = 0; rank < tasks.size(); ++rank) {
    const SlurmPlace place = step.places[rank];
    const int port = port_base + place.local;
    if (port > 65535) {
      return Invalid(
          "the port of {} would be {}: choose a CAPSTAN_PORT below "
          "{}",
          tasks[rank].ToString(), port, port_base);
    }
    jobs[tasks[rank].role][tasks[rank].index] =
        fmt::format("{}:{}", step.hosts[static_cast<size_t>(place.node)], port);
  }
  return MakeClusterSpec(std::move(jobs));
}

absl::Status ReadStep(const Environment& environment,
                      const SlurmOptions& options, ResolvedCluster& resolved) {
  Step step;
  CAPSTAN_RETURN_IF_ERROR(ReadSizes(environment, step));
  CAPSTAN_RETURN_IF_ERROR(ReadNodes(environment, step));
  CAPSTAN_RETURN_IF_ERROR(ReadPlaces(environment, step));
  const absl::StatusOr<Counts> counts =
      ReadCounts(environment, options.counts, step.num_tasks);
  CAPSTAN_RETURN_IF_ERROR(counts.status());
  const absl::StatusOr<int> port_base =
      GivenOrVariable(options.port_base, environment, "CAPSTAN_PORT",
                      kDefaultPortBase, 1, 65535);
  CAPSTAN_RETURN_IF_ERROR(port_base.status());
  const std::vector<TaskId> tasks = AssignRoles(*counts);
  absl::StatusOr<ClusterSpec> spec = MakeSpec(step, tasks, *port_base);
  CAPSTAN_RETURN_IF_ERROR(spec.status());
  resolved.spec = *std::move(spec);
  resolved.task = tasks[static_cast<size_t>(step.rank)];
  return absl::OkStatus();
}

}  // namespace

bool IsSlurmCluster(const Environment& environment) {
  return environment.Get(kNumTasks).value_or("1") != "1";
}

absl::StatusOr<ResolvedCluster> ReadSlurm(const Environment& environment,
                                          const SlurmOptions& options) {
  ResolvedCluster resolved;
  resolved.source = "Slurm";
  const std::optional<std::string> job = environment.Get("SLURM_JOB_ID");
  if (job.has_value()) {
    const std::string step = environment.Get("SLURM_STEP_ID").value_or("0");
    resolved.source = fmt::format("Slurm step {}.{}", *job, step);
    resolved.job_id = fmt::format("slurm-{}.{}", *job, step);
  }
  const absl::Status status = ReadStep(environment, options, resolved);
  if (!status.ok()) return WithContext(status, resolved.source);
  return resolved;
}

SlurmClusterResolver::SlurmClusterResolver(SlurmOptions options,
                                           Environment environment)
    : options_(options), environment_(std::move(environment)) {}

ResolvedCluster SlurmClusterResolver::Read() const {
  return ValueOrThrow(ReadSlurm(environment_, options_));
}

}  // namespace capstan
