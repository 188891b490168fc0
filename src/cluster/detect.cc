#include "cluster/detect.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/status.h"
#include "cluster/cluster_spec.h"
#include "cluster/file_resolver.h"
#include "cluster/kubernetes_resolver.h"
#include "cluster/resolve.h"
#include "cluster/slurm_resolver.h"
#include "cluster/text.h"
#include "cluster/tf_config_resolver.h"

namespace capstan {
namespace {

constexpr char kFrom[] = "CAPSTAN_CLUSTER_FROM";
constexpr char kFile[] = "CAPSTAN_CLUSTER";

// One place where the environment may describe the cluster.
struct Source {
  std::string_view name;  // as in CAPSTAN_CLUSTER_FROM
  bool (*is_present)(const Environment&);
  absl::StatusOr<ResolvedCluster> (*read)(const Environment&,
                                          const ClusterOverrides&);
};

bool HasFile(const Environment& environment) {
  return environment.Get(kFile).has_value();
}

absl::StatusOr<ResolvedCluster> ReadFileVariable(
    const Environment& environment, const ClusterOverrides& overrides) {
  const absl::StatusOr<std::string> path = RequireVariable(
      environment, kFile, "set it to the path of a cluster file");
  CAPSTAN_RETURN_IF_ERROR(path.status());
  return ReadClusterFile(*path, environment, overrides);
}

bool HasTfConfig(const Environment& environment) {
  return environment.Has("TF_CONFIG");
}

absl::StatusOr<ResolvedCluster> ReadSlurmStep(const Environment& environment,
                                              const ClusterOverrides&) {
  return ReadSlurm(environment, {});
}

absl::StatusOr<ResolvedCluster> ReadPod(const Environment& environment,
                                        const ClusterOverrides&) {
  return ReadKubernetes(environment, {});
}

// In the order in which they are checked.
constexpr std::array<Source, 4> kSources = {{
    {"file", HasFile, ReadFileVariable},
    {"tf_config", HasTfConfig, ReadTfConfig},
    {"slurm", IsSlurmCluster, ReadSlurmStep},
    {"kubernetes", IsKubernetesCluster, ReadPod},
}};
constexpr std::array<std::string_view, 6> kFromNames = {
    "auto", "file", "tf_config", "slurm", "kubernetes", "standalone"};

// What was read, and the name of its source.
struct Found {
  std::string_view name;
  ResolvedCluster cluster;
};

std::string AddressOrNone(const ClusterSpec& spec, TaskId task) {
  return spec.contains(task) ? spec.task_address(task) : "nowhere";
}

// The first task that differs between two specs, if any.
std::optional<TaskId> FirstDifference(const ClusterSpec& a,
                                      const ClusterSpec& b) {
  for (const ClusterSpec* spec : {&a, &b}) {
    for (const TaskId task : spec->tasks()) {
      if (AddressOrNone(a, task) != AddressOrNone(b, task)) return task;
    }
  }
  return std::nullopt;
}

absl::Status CheckAgreement(const Found& first, const Found& second) {
  const ResolvedCluster& a = first.cluster;
  const ResolvedCluster& b = second.cluster;
  std::string what;
  if (const std::optional<TaskId> task = FirstDifference(a.spec, b.spec)) {
    what = fmt::format(
        "{} is at {} according to {} ({}), at {} according to "
        "{} ({})",
        task->ToString(), AddressOrNone(a.spec, *task), a.source,
        a.spec.ToString(), AddressOrNone(b.spec, *task), b.source,
        b.spec.ToString());
  } else if (a.task.has_value() && b.task.has_value() && a.task != b.task) {
    what =
        fmt::format("this is {} according to {}, {} according to {}",
                    a.task->ToString(), a.source, b.task->ToString(), b.source);
  } else {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(fmt::format(
      "two descriptions of the cluster disagree: {}; unset one, or choose with "
      "{}={} or {}",
      what, kFrom, first.name, second.name));
}

// Completes and checks the cluster that a source describes.
absl::Status Finish(const DetectOptions& options, ResolvedCluster& cluster) {
  CAPSTAN_RETURN_IF_ERROR(
      ApplyTaskVariable(options.environment, options.overrides, cluster));
  CAPSTAN_RETURN_IF_ERROR(ApplyOverrides(options.overrides, cluster));
  ApplyJobIdVariable(options.environment, cluster);
  return ValidateResolved(cluster);
}

absl::StatusOr<ResolvedCluster> ReadSource(const DetectOptions& options,
                                           const Source& source) {
  absl::StatusOr<ResolvedCluster> cluster =
      source.read(options.environment, options.overrides);
  CAPSTAN_RETURN_IF_ERROR(cluster.status());
  CAPSTAN_RETURN_IF_ERROR(Finish(options, *cluster));
  return cluster;
}

// All sources that are present, in order; only `from`, if it names one.
absl::StatusOr<std::vector<Found>> ReadSources(const DetectOptions& options,
                                               std::string_view from) {
  std::vector<Found> found;
  for (const Source& source : kSources) {
    const bool is_wanted = from == "auto"
                               ? source.is_present(options.environment)
                               : from == source.name;
    if (!is_wanted) continue;
    absl::StatusOr<ResolvedCluster> cluster = ReadSource(options, source);
    if (!cluster.ok() && !found.empty()) {
      return absl::Status(cluster.status().code(),
                          fmt::format("{}; or ignore it with {}={}",
                                      std::string(cluster.status().message()),
                                      kFrom, found.front().name));
    }
    CAPSTAN_RETURN_IF_ERROR(cluster.status());
    found.push_back({source.name, *std::move(cluster)});
  }
  return found;
}

// Mentions what looks like a cluster but is not one, so that the user does not
// wonder.
ResolvedCluster Standalone(const Environment& environment) {
  ResolvedCluster alone;
  alone.source = "standalone, all tasks in this process";
  if (environment.Get("SLURM_JOB_ID").has_value()) {
    alone.source += " (in a Slurm job, but not in a step of several tasks)";
  } else if (environment.Get("KUBERNETES_SERVICE_HOST").has_value()) {
    alone.source += " (in a Kubernetes pod, but without CAPSTAN_WORKERS)";
  }
  return alone;
}

absl::StatusOr<std::string> ReadFrom(const DetectOptions& options) {
  const std::string from =
      !options.from.empty() ? options.from
                            : options.environment.Get(kFrom).value_or("auto");
  if (std::find(kFromNames.begin(), kFromNames.end(), from) !=
      kFromNames.end()) {
    return from;
  }
  return Invalid("{}={}: write one of {}{}", kFrom, Quoted(from),
                 Joined(kFromNames), DidYouMean(from, kFromNames));
}

// No cluster; but a user who names a task expects one.
absl::StatusOr<ResolvedCluster> FindNone(const DetectOptions& options) {
  const std::optional<std::string> task =
      options.environment.Get("CAPSTAN_TASK");
  if (task.has_value() || options.overrides.task_type.has_value() ||
      options.overrides.task_index.has_value()) {
    return absl::FailedPreconditionError(fmt::format(
        "{} but there is no cluster: describe it in a file and set {} to its "
        "path, or in TF_CONFIG",
        task.has_value() ? "CAPSTAN_TASK=" + *task : "a task is given", kFile));
  }
  ResolvedCluster alone = Standalone(options.environment);
  ApplyJobIdVariable(options.environment, alone);
  CAPSTAN_RETURN_IF_ERROR(ValidateJobId(alone.job_id));
  return alone;
}

absl::StatusOr<ResolvedCluster> FindGiven(const DetectOptions& options) {
  ResolvedCluster given;
  given.source = "the command line";
  if (!options.overrides.cluster.has_value()) {
    absl::StatusOr<ResolvedCluster> read =
        ReadClusterFile(options.file, options.environment, options.overrides);
    CAPSTAN_RETURN_IF_ERROR(read.status());
    given = *std::move(read);
  }
  CAPSTAN_RETURN_IF_ERROR(Finish(options, given));
  return given;
}

absl::StatusOr<ResolvedCluster> Find(const DetectOptions& options) {
  if (options.overrides.cluster.has_value() || !options.file.empty()) {
    return FindGiven(options);
  }
  const absl::StatusOr<std::string> from = ReadFrom(options);
  CAPSTAN_RETURN_IF_ERROR(from.status());
  absl::StatusOr<std::vector<Found>> found = ReadSources(options, *from);
  CAPSTAN_RETURN_IF_ERROR(found.status());
  if (found->empty()) return FindNone(options);
  for (size_t i = 1; i < found->size(); ++i) {
    CAPSTAN_RETURN_IF_ERROR(CheckAgreement(found->front(), (*found)[i]));
  }
  return std::move(found->front().cluster);
}

}  // namespace

absl::StatusOr<ResolvedCluster> Detect(const DetectOptions& options) {
  absl::StatusOr<ResolvedCluster> cluster = Find(options);
  CAPSTAN_RETURN_IF_ERROR(cluster.status());
  if (options.require_task && !cluster->spec.empty() &&
      !cluster->task.has_value()) {
    return absl::FailedPreconditionError(
        fmt::format("{} does not say which task this is: say it there, or with "
                    "CAPSTAN_TASK=worker/0",
                    cluster->source));
  }
  return cluster;
}

ResolvedCluster DetectCluster(const DetectOptions& options) {
  return ValueOrThrow(Detect(options));
}

}  // namespace capstan
