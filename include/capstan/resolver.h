// Where the description of the cluster comes from, and which task of it this
// process is. DetectCluster finds the source by itself; a resolver reads one.
//
//   ResolvedCluster cluster = DetectCluster();
//   std::cerr << cluster.ToString() << '\n';
//   // cluster: from TF_CONFIG, 1 chief, 2 workers, 1 ps; this is worker/1
//
// A mistake in the source throws capstan::Error with one line that names the
// source, what is wrong and what to do: kInvalidArgument for what is wrong in
// itself, kOutOfRange for a task that is not in its cluster, kNotFound for a
// missing file, kFailedPrecondition for variables that are missing or
// contradict one another.
// Thread-safety: as the standard containers. Nothing here opens a connection.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "capstan/cluster_spec.h"
#include "capstan/export.h"

namespace capstan {

// Environment variables, read once. A value: later changes in the process have
// no effect on it, and a test can make its own.
class CAPSTAN_EXPORT Environment {
 public:
  // No variables, or those given.
  Environment() = default;
  static Environment Of(const std::map<std::string, std::string>& variables);

  // The current variables of this process. No other thread may change them
  // meanwhile.
  static Environment FromProcess();

  // The value of a variable; nullopt if it is not set, or empty.
  std::optional<std::string> Get(std::string_view name) const;

  // Whether a variable is set, even if it is empty.
  bool Has(std::string_view name) const noexcept;

 private:
  std::map<std::string, std::string, std::less<>> variables_;
};

struct RpcOptions {
  // The protocol between tasks. There is one, "capstan"; TensorFlow's "grpc"
  // is accepted and means the same, so that its configurations work unchanged.
  std::string layer = "capstan";

  friend bool operator==(const RpcOptions&, const RpcOptions&) = default;
};

// What a source says.
struct CAPSTAN_EXPORT ResolvedCluster {
  // Empty: there is no cluster, and this process runs on its own.
  ClusterSpec spec = {};
  // Which task this process is; nullopt if the source does not say.
  std::optional<TaskId> task = std::nullopt;
  RpcOptions rpc = {};
  // Distinguishes this job from others: tasks of different jobs refuse one
  // another. Empty if the source does not say.
  std::string job_id = {};
  // For messages: "TF_CONFIG", "Slurm step 42.0", "cluster.yaml".
  std::string source = {};
  // What was ignored, one line each, to be logged.
  std::vector<std::string> warnings = {};

  // "cluster: from TF_CONFIG, 1 chief, 2 workers, 1 ps; this is worker/1".
  std::string ToString() const;
};

// What the caller overrides. Each field stands alone: a task index replaces
// just the index.
struct ClusterOverrides {
  std::optional<ClusterSpec> cluster = std::nullopt;
  std::optional<Role> task_type = std::nullopt;
  std::optional<int> task_index = std::nullopt;
  std::optional<std::string> rpc_layer = std::nullopt;
};

// A source of cluster descriptions. Users may write their own.
class CAPSTAN_EXPORT ClusterResolver {
 public:
  virtual ~ClusterResolver();

  // What the source says, checked: the spec is a complete cluster (see
  // ClusterSpec::Validate), and the task, if there is one, is in it; an
  // evaluator may be missing from the spec. Throws what Read throws, and the
  // errors of these checks.
  ResolvedCluster Resolve() const;

  // What the source says, which may be part of a cluster. Reads the source
  // again on every call.
  virtual ResolvedCluster Read() const = 0;
};

// Returns what it is given.
class CAPSTAN_EXPORT SimpleClusterResolver final : public ClusterResolver {
 public:
  explicit SimpleClusterResolver(ClusterSpec spec,
                                 std::optional<TaskId> task = std::nullopt,
                                 RpcOptions rpc = {});
  ResolvedCluster Read() const override;

 private:
  ClusterSpec spec_;
  std::optional<TaskId> task_;
  RpcOptions rpc_;
};

// TensorFlow's variable TF_CONFIG, which holds JSON:
//
//   {"cluster": {"chief": ["a:1"], "worker": ["b:1", "c:1"], "ps": ["d:1"]},
//    "task": {"type": "worker", "index": 1}}
//
// A job may be sparse (see ClusterSpec::FromJson), the index may be a string
// ("1"), and "task" may be missing. "rpc_layer" is read; "environment",
// "session_master" and "job", which other programs write, are not; any other
// key causes a warning. The names of jobs are those of Role: there is no
// "master".
class CAPSTAN_EXPORT TFConfigClusterResolver final : public ClusterResolver {
 public:
  // What is overridden is not read, and may be missing or wrong.
  explicit TFConfigClusterResolver(
      ClusterOverrides overrides = {},
      Environment environment = Environment::FromProcess());
  ResolvedCluster Read() const override;

 private:
  ClusterOverrides overrides_;
  Environment environment_;
};

// The number of tasks of each role, where the source cannot say. What is not
// given is read from CAPSTAN_WORKERS, CAPSTAN_PS and CAPSTAN_EVALUATORS.
struct TaskCounts {
  std::optional<int> workers = std::nullopt;
  std::optional<int> ps = std::nullopt;
  std::optional<int> evaluators = std::nullopt;  // 0 if not given anywhere
};

// A Slurm step (`srun`), from the variables that Slurm gives each task;
// `scontrol` is not needed. The tasks of the step, in the order of
// SLURM_PROCID, are the chief, then the ps, then the workers, then the
// evaluator; a file for `srun --multi-prog` can use the same order. Unless
// given, there is 1 ps, and the remaining tasks are workers.
//
// Hosts are those of SLURM_STEP_NODELIST in Slurm's order, with tasks as in
// SLURM_STEP_TASKS_PER_NODE, in blocks or, if SLURM_DISTRIBUTION says so,
// cyclic. SLURM_NODEID and SLURM_LOCALID, where set, must agree with that. The
// port of a task is port_base plus the task's number on its node, from 0. The
// job id is that of the Slurm job and step.
struct SlurmOptions {
  TaskCounts counts = {};
  // CAPSTAN_PORT, or 8888 as in TensorFlow, if not given.
  std::optional<int> port_base = std::nullopt;
};

class CAPSTAN_EXPORT SlurmClusterResolver final : public ClusterResolver {
 public:
  explicit SlurmClusterResolver(
      SlurmOptions options = {},
      Environment environment = Environment::FromProcess());
  ResolvedCluster Read() const override;

 private:
  SlurmOptions options_;
  Environment environment_;
};

// Kubernetes pods with stable names. Everything is computed from the pod's
// environment; the API server is not contacted. Pods and jobs are named after
// roles (chief, worker, ps, evaluator), and each pod is told how many there are
// by CAPSTAN_WORKERS and CAPSTAN_PS (both required) and CAPSTAN_EVALUATORS. For
// a job NAME, the address of worker 3 is
//
//   in a JobSet            NAME-worker-0-3.SUBDOMAIN:PORT
//   in StatefulSets        NAME-worker-3.SUBDOMAIN:PORT
//   in indexed Jobs        NAME-worker-3.SUBDOMAIN:PORT
//
// A JobSet has a replicated job per role, each with `replicas: 1` and as many
// completions as there are tasks. StatefulSets and Jobs, one per role, are
// called NAME-worker and so on; they need a headless Service, which the pods
// name as their subdomain.
//
// Which pod this is is read from JOBSET_NAME, REPLICATED_JOB_NAME and
// JOB_COMPLETION_INDEX (the first two set through the downward API) if they are
// set, otherwise from HOSTNAME, which Kubernetes sets, or POD_NAME. The job id
// is NAME.
struct KubernetesOptions {
  TaskCounts counts = {};
  // CAPSTAN_PORT, or 7077, if not given.
  std::optional<int> port = std::nullopt;
  // The Service; CAPSTAN_SUBDOMAIN, or NAME as in JobSet, if not given.
  std::optional<std::string> subdomain = std::nullopt;
};

class CAPSTAN_EXPORT KubernetesClusterResolver final : public ClusterResolver {
 public:
  explicit KubernetesClusterResolver(
      KubernetesOptions options = {},
      Environment environment = Environment::FromProcess());
  ResolvedCluster Read() const override;

 private:
  KubernetesOptions options_;
  Environment environment_;
};

// A YAML file, the same for all tasks:
//
//   job_id: ctr                     # optional
//   cluster:
//     chief: [10.0.0.1:7077]
//     worker: [10.0.0.2:7077, 10.0.0.3:7077]
//     ps: {0: 10.0.0.4:7077, 2: "[::1]:7077"}    # sparse
//   task: worker/1                  # optional; or CAPSTAN_TASK
//
// Unknown keys are errors; errors name the line. Symbolic links are followed;
// the file may be at most 1 MiB.
class CAPSTAN_EXPORT FileClusterResolver final : public ClusterResolver {
 public:
  explicit FileClusterResolver(
      std::string path, ClusterOverrides overrides = {},
      Environment environment = Environment::FromProcess());
  ResolvedCluster Read() const override;

 private:
  std::string path_;
  ClusterOverrides overrides_;
  Environment environment_;
};

// Several sources that each know a part of the cluster. Dense jobs of one role
// are concatenated in the order of the resolvers; if one of them is sparse, all
// keep their indices, and a duplicate index is kInvalidArgument. Everything
// else is as the first resolver says. Needs at least one resolver, and none may
// be null.
class CAPSTAN_EXPORT UnionClusterResolver final : public ClusterResolver {
 public:
  explicit UnionClusterResolver(
      std::vector<std::shared_ptr<const ClusterResolver>> resolvers);
  ResolvedCluster Read() const override;

 private:
  std::vector<std::shared_ptr<const ClusterResolver>> resolvers_;
};

struct DetectOptions {
  // What command-line flags say, which takes precedence. If this has a cluster,
  // no other source is looked for.
  ClusterOverrides overrides = {};
  // A file given by a flag: it is the source, and no others are looked for.
  std::string file = {};
  // Where to look: "auto" for everywhere, or one of "file", "tf_config",
  // "slurm", "kubernetes" and "standalone". If empty, CAPSTAN_CLUSTER_FROM, or
  // "auto".
  std::string from = {};
  // Whether it is an error if no source says which task this is. Tools that
  // only look at a cluster need not be one of its tasks.
  bool require_task = true;
  Environment environment = Environment::FromProcess();
};

// The cluster that this process was started in, from the first of these sources
// that exists:
//
//   1. the cluster, or the file, in `options`
//   2. CAPSTAN_CLUSTER, the path of a file as for FileClusterResolver
//   3. TF_CONFIG
//   4. Slurm: in a step of two or more tasks
//   5. Kubernetes: in a pod (KUBERNETES_SERVICE_HOST) with CAPSTAN_WORKERS
//   6. standalone: no cluster, an empty spec, no task
//
// If several of 2 to 5 exist, they must agree on the tasks, their addresses and
// which task this is; otherwise throws kFailedPrecondition, with what each
// says. In every case CAPSTAN_TASK ("worker/1") says which task this is where
// the source does not, and must not contradict it, and CAPSTAN_JOB_ID replaces
// the job id. Throws like ClusterResolver::Resolve.
CAPSTAN_EXPORT ResolvedCluster DetectCluster(const DetectOptions& options = {});

}  // namespace capstan
