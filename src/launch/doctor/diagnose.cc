#include "launch/doctor/diagnose.h"

#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "base/async/real_clock.h"
#include "cluster/detect.h"
#include "cluster/resolve.h"
#include "launch/admin_client.h"
#include "launch/doctor/check_addresses.h"
#include "launch/doctor/check_blas.h"
#include "launch/doctor/check_clock.h"
#include "launch/doctor/check_limits.h"
#include "launch/doctor/check_machine.h"
#include "launch/doctor/check_tasks.h"
#include "launch/doctor/check_tls.h"
#include "launch/doctor/check_token.h"
#include "launch/doctor/probe_loopback.h"
#include "launch/doctor/probe_tasks.h"
#include "launch/system/machine_facts.h"

namespace capstan {
namespace {

// One run of Diagnose.
class Diagnosis {
 public:
  explicit Diagnosis(const DiagnoseOptions& options) : options_(options) {
    tls_directory_ = GivenOr(options.tls_directory, "CAPSTAN_TLS");
    token_file_ = GivenOr(options.token_file, "CAPSTAN_TOKEN");
  }

  Findings Run() {
    Findings described = ReadCluster();
    const MachineFacts facts = ReadMachineFacts(options_.folder);
    Append(CheckMachine(facts), findings_);
    if (options_.probe_blas) {
      Append(CheckBlas(options_.probe_blas(), facts.cpu), findings_);
    }
    Append(CheckLimits(facts, cluster_.spec.num_tasks()), findings_);
    Append(CheckLoopback(ProbeLoopback()), findings_);
    Append(CheckClock(facts), findings_);
    Append(std::move(described), findings_);
    if (!tls_directory_.empty()) {
      Append(CheckTls(tls_directory_, TasksHere(), clock_), findings_);
    }
    Append(CheckTokenFile(token_file_, !tls_directory_.empty()), findings_);
    if (!cluster_.spec.empty()) LookAtCluster();
    return findings_;
  }

 private:
  std::string GivenOr(const std::string& given, const char* variable) const {
    return given.empty() ? options_.environment.Get(variable).value_or("")
                         : given;
  }

  // Findings about the description, which is checked as it is read.
  Findings ReadCluster() {
    DetectOptions detect;
    detect.file = options_.cluster_file;
    detect.require_task = false;
    detect.environment = options_.environment;
    absl::StatusOr<ResolvedCluster> cluster = Detect(detect);
    if (!cluster.ok()) {
      return {{FindingLevel::kProblem,
               "cluster: " + std::string(cluster.status().message()), ""}};
    }
    cluster_ = *std::move(cluster);
    if (cluster_.spec.empty()) {
      return {{FindingLevel::kOk,
               "cluster: none given or found (--cluster, TF_CONFIG), so this "
               "machine alone was looked at",
               ""}};
    }
    Findings findings = {{FindingLevel::kOk, cluster_.ToString(), ""}};
    for (const std::string& warning : cluster_.warnings) {
      findings.push_back({FindingLevel::kWarning, warning, ""});
    }
    return findings;
  }

  // The tasks that will look for certificates on this machine: all of them if
  // it runs the whole job.
  std::vector<TaskId> TasksHere() const {
    if (cluster_.task) return {*cluster_.task};
    return LocalTasks(cluster_.spec);
  }

  void LookAtCluster() {
    AdminOptions options;
    options.cluster = cluster_;
    options.tls_directory = tls_directory_;
    options.token_file = token_file_;
    options.timeout = options_.timeout;
    std::vector<TaskProbe> probes;
    Findings tasks;
    const absl::StatusOr<std::unique_ptr<AdminClient>> client =
        AdminClient::Create(std::move(options));
    if (client.ok()) {
      probes = ProbeTasks(**client);
      tasks = CheckTasks(probes, options_.timeout);
    } else {
      tasks = {
          {FindingLevel::kWarning,
           "tasks: cannot be asked: " + std::string(client.status().message()),
           ""}};
    }
    LookAtAddresses(probes);
    Append(std::move(tasks), findings_);
  }

  void LookAtAddresses(const std::vector<TaskProbe>& probes) {
    std::set<TaskId> answering;
    for (const TaskProbe& probe : probes) {
      if (probe.status.ok() || probe.refused()) answering.insert(probe.task);
    }
    NetworkPolicy policy;
    policy.tls = !tls_directory_.empty();
    const absl::StatusOr<int> insecure =
        GivenOrVariable(std::nullopt, options_.environment,
                        "CAPSTAN_INSECURE_NETWORK", 0, 0, 1);
    policy.insecure_network = insecure.ok() && *insecure == 1;
    Append(CheckAddresses(cluster_.spec, policy, answering), findings_);
  }

  const DiagnoseOptions& options_;
  std::string tls_directory_;
  std::string token_file_;
  RealClock clock_;
  ResolvedCluster cluster_;
  Findings findings_;
};

}  // namespace

Findings Diagnose(const DiagnoseOptions& options) {
  return Diagnosis(options).Run();
}

}  // namespace capstan
