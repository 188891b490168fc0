#include "cluster/kubernetes_resolver.h"

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/status.h"
#include "cluster/cluster_spec.h"
#include "cluster/resolve.h"
#include "cluster/task_id.h"
#include "cluster/text.h"

namespace capstan {
namespace {

constexpr char kKubernetes[] = "Kubernetes";
constexpr char kIndex[] = "JOB_COMPLETION_INDEX";
constexpr int kDefaultPort = 7077;
constexpr int kMaxPods = 100'000;

// What a pod's name says.
struct Pod {
  std::string job;  // NAME; may be empty
  TaskId task;
  bool jobset = false;
};

// Removes and returns the part of `name` after the last '-'; all of it if there
// is no '-'.
std::string_view CutLast(std::string_view& name) {
  const size_t dash = name.rfind('-');
  if (dash == std::string_view::npos) return std::exchange(name, {});
  const std::string_view last = name.substr(dash + 1);
  name = name.substr(0, dash);
  return last;
}

std::optional<int> CutIndex(std::string_view& name) {
  return ParseWhole(CutLast(name), 0, TaskId::kMaxIndex);
}

std::optional<Role> CutRole(std::string_view& name) {
  const absl::StatusOr<Role> role = ParseRole(CutLast(name));
  return role.ok() ? std::optional(*role) : std::nullopt;
}

// Parses NAME-worker-3 or, in a JobSet, NAME-worker-0-3.
std::optional<Pod> ParsePodName(std::string_view name) {
  name = name.substr(0, name.find('.'));
  const std::optional<int> index = CutIndex(name);
  if (!index.has_value()) return std::nullopt;
  std::string_view rest = name;
  if (const std::optional<Role> role = CutRole(rest)) {
    return Pod{std::string(rest), {*role, *index}, false};
  }
  const std::optional<int> replica = CutIndex(name);
  const std::optional<Role> role = CutRole(name);
  if (replica != 0 || !role.has_value()) return std::nullopt;
  return Pod{std::string(name), {*role, *index}, true};
}

// The pod according to JOBSET_NAME and REPLICATED_JOB_NAME.
absl::StatusOr<Pod> ReadJobSetPod(const Environment& environment,
                                  std::string jobset,
                                  const std::string& replicated_job) {
  const absl::StatusOr<Role> role = ParseRole(replicated_job);
  if (!role.ok()) return WithContext(role.status(), "REPLICATED_JOB_NAME");
  const absl::StatusOr<std::optional<int>> replica =
      NumberVariable(environment, "JOB_INDEX", 0, kMaxPods);
  CAPSTAN_RETURN_IF_ERROR(replica.status());
  if (replica->value_or(0) != 0) {
    return absl::FailedPreconditionError(fmt::format(
        "JOB_INDEX={}: give the replicated job {} `replicas: 1`, and as many "
        "completions as it has tasks",
        **replica, replicated_job));
  }
  const absl::StatusOr<std::optional<int>> index =
      NumberVariable(environment, kIndex, 0, TaskId::kMaxIndex);
  CAPSTAN_RETURN_IF_ERROR(index.status());
  if (!index->has_value()) {
    return absl::FailedPreconditionError(
        fmt::format("{} is not set: let the jobs of the JobSet be Indexed, as "
                    "they are by default",
                    kIndex));
  }
  return Pod{std::move(jobset), {*role, **index}, true};
}

// The pod according to HOSTNAME or else POD_NAME, which for Jobs ends in a
// random part: NAME-worker-3-x7k2p.
absl::StatusOr<Pod> ReadNamedPod(const Environment& environment) {
  const std::string host = environment.Get("HOSTNAME").value_or("");
  const std::string name = environment.Get("POD_NAME").value_or("");
  const absl::StatusOr<std::optional<int>> index =
      NumberVariable(environment, kIndex, 0, TaskId::kMaxIndex);
  CAPSTAN_RETURN_IF_ERROR(index.status());
  std::optional<Pod> pod = ParsePodName(host);
  if (!pod.has_value()) {
    std::string_view stable = name;
    if (index->has_value()) CutLast(stable);
    pod = ParsePodName(stable);
  }
  if (!pod.has_value()) {
    return absl::FailedPreconditionError(fmt::format(
        "neither HOSTNAME={} nor POD_NAME={} is of the form NAME-ROLE-INDEX, "
        "or NAME-ROLE-0-INDEX in a JobSet: name the StatefulSet, Job or "
        "replicated job after its role ({})",
        Quoted(host), Quoted(name), Joined(kRoleNames)));
  }
  if (index->value_or(pod->task.index) != pod->task.index) {
    return absl::FailedPreconditionError(
        fmt::format("the pod's name says that this is {}, but {}={}",
                    pod->task.ToString(), kIndex, **index));
  }
  return *std::move(pod);
}

absl::StatusOr<Pod> ReadPod(const Environment& environment) {
  const std::optional<std::string> jobset = environment.Get("JOBSET_NAME");
  const std::optional<std::string> replicated_job =
      environment.Get("REPLICATED_JOB_NAME");
  if (jobset.has_value() && replicated_job.has_value()) {
    return ReadJobSetPod(environment, *jobset, *replicated_job);
  }
  return ReadNamedPod(environment);
}

absl::StatusOr<int> RequireCount(std::optional<int> given,
                                 const Environment& environment,
                                 std::string_view name) {
  if (!given.has_value()) {
    CAPSTAN_RETURN_IF_ERROR(
        RequireVariable(environment, name,
                        "set it in every pod to the number of such tasks")
            .status());
  }
  return GivenOrVariable(given, environment, name, 0, 1, kMaxPods);
}

// How the pods of one job are addressed.
struct Naming {
  std::string job;
  std::string subdomain;
  int port = 0;
  bool jobset = false;

  std::string Address(TaskId task) const {
    return fmt::format("{}{}{}-{}{}.{}:{}", job, job.empty() ? "" : "-",
                       RoleName(task.role), jobset ? "0-" : "", task.index,
                       subdomain, port);
  }
};

absl::StatusOr<Naming> ReadNaming(const Environment& environment,
                                  const KubernetesOptions& options,
                                  const Pod& pod) {
  const absl::StatusOr<int> port = GivenOrVariable(
      options.port, environment, "CAPSTAN_PORT", kDefaultPort, 1, 65535);
  CAPSTAN_RETURN_IF_ERROR(port.status());
  std::string subdomain = options.subdomain.value_or(
      environment.Get("CAPSTAN_SUBDOMAIN").value_or(pod.job));
  if (subdomain.empty()) {
    return absl::FailedPreconditionError(
        "CAPSTAN_SUBDOMAIN is not set: set it to the name of the headless "
        "Service of the pods");
  }
  return Naming{pod.job, std::move(subdomain), *port, pod.jobset};
}

absl::StatusOr<ClusterSpec> ReadSpec(const Environment& environment,
                                     const TaskCounts& given,
                                     const Naming& naming) {
  const absl::StatusOr<int> workers =
      RequireCount(given.workers, environment, "CAPSTAN_WORKERS");
  CAPSTAN_RETURN_IF_ERROR(workers.status());
  const absl::StatusOr<int> ps =
      RequireCount(given.ps, environment, "CAPSTAN_PS");
  CAPSTAN_RETURN_IF_ERROR(ps.status());
  const absl::StatusOr<int> evaluators = GivenOrVariable(
      given.evaluators, environment, "CAPSTAN_EVALUATORS", 0, 0, 1);
  CAPSTAN_RETURN_IF_ERROR(evaluators.status());
  ClusterSpec::Jobs jobs;
  const auto add = [&](Role role, int count) {
    for (int i = 0; i < count; ++i) {
      jobs[role].emplace(i, naming.Address({role, i}));
    }
  };
  add(Role::kChief, 1);
  add(Role::kWorker, *workers);
  add(Role::kPs, *ps);
  add(Role::kEvaluator, *evaluators);
  return MakeClusterSpec(std::move(jobs));
}

absl::Status ReadAll(const Environment& environment,
                     const KubernetesOptions& options,
                     ResolvedCluster& resolved) {
  const absl::StatusOr<Pod> pod = ReadPod(environment);
  CAPSTAN_RETURN_IF_ERROR(pod.status());
  const absl::StatusOr<Naming> naming = ReadNaming(environment, options, *pod);
  CAPSTAN_RETURN_IF_ERROR(naming.status());
  absl::StatusOr<ClusterSpec> spec =
      ReadSpec(environment, options.counts, *naming);
  CAPSTAN_RETURN_IF_ERROR(spec.status());
  resolved.spec = *std::move(spec);
  resolved.task = pod->task;
  resolved.job_id = pod->job;
  return absl::OkStatus();
}

}  // namespace

bool IsKubernetesCluster(const Environment& environment) {
  return environment.Get("KUBERNETES_SERVICE_HOST").has_value() &&
         environment.Get("CAPSTAN_WORKERS").has_value();
}

absl::StatusOr<ResolvedCluster> ReadKubernetes(
    const Environment& environment, const KubernetesOptions& options) {
  ResolvedCluster resolved;
  resolved.source = kKubernetes;
  const absl::Status status = ReadAll(environment, options, resolved);
  if (!status.ok()) return WithContext(status, kKubernetes);
  return resolved;
}

KubernetesClusterResolver::KubernetesClusterResolver(KubernetesOptions options,
                                                     Environment environment)
    : options_(std::move(options)), environment_(std::move(environment)) {}

ResolvedCluster KubernetesClusterResolver::Read() const {
  return ValueOrThrow(ReadKubernetes(environment_, options_));
}

}  // namespace capstan
