#include "launch/join_job.h"

#include <unistd.h>

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/async/run_on.h"
#include "base/status.h"
#include "cluster/address.h"
#include "cluster/cluster_spec.h"
#include "cluster/json.h"
#include "cluster/task_id.h"
#include "launch/admin_client.h"
#include "launch/local/socket_folder.h"
#include "launch/local/task_environment.h"
#include "launch/security/network_policy.h"
#include "launch/system/printable.h"
#include "transport/tcp/address.h"
#include "wire/membership.h"

namespace capstan {
namespace {

constexpr TaskId kTheChief{Role::kChief, 0};

// Chooses the address of the worker, and checks that the worker may listen.
absl::Status ChooseAddress(const JoinJobOptions& options,
                           JoinedWorker& worker) {
  if (!options.listen.empty()) {
    CAPSTAN_RETURN_IF_ERROR(ValidateAddress(options.listen));
    NetworkPolicy policy;
    policy.tls = !options.tls.empty();
    policy.insecure_network = options.insecure_network;
    worker.address = options.listen;
    return CheckListen(options.listen, policy).status();
  }
  // A warning means that other machines can reach the chief: it may be on one.
  const NetworkPolicy warn = {.tls = false, .insecure_network = true};
  absl::StatusOr<std::string> warning = CheckListen(options.chief, warn);
  CAPSTAN_RETURN_IF_ERROR(warning.status());
  if (!warning->empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the chief is at ", options.chief,
                     ", from where 127.0.0.1 is another machine: say with "
                     "--listen HOST:PORT where it can reach this worker"));
  }
  if (IsUnixAddress(options.chief)) {
    // After Become, the worker has this process id.
    worker.address = AddressBeside(options.chief, ::getpid());
    return ValidateAddress(worker.address);
  }
  absl::StatusOr<HeldPorts> port = HeldPorts::Take(1);
  CAPSTAN_RETURN_IF_ERROR(port.status());
  worker.address = absl::StrCat("127.0.0.1:", port->ports().front());
  worker.port = *std::move(port);
  return absl::OkStatus();
}

absl::StatusOr<JoinReply> AskChief(const JoinJobOptions& options,
                                   const std::string& address) {
  absl::StatusOr<ClusterSpec> chief =
      MakeClusterSpec({{Role::kChief, {{0, options.chief}}}});
  CAPSTAN_RETURN_IF_ERROR(chief.status());
  AdminOptions admin;
  admin.cluster.spec = *std::move(chief);
  admin.cluster.job_id = options.job_id;
  admin.as_worker = true;
  admin.tls_directory = options.tls;
  admin.token_file = options.token;
  admin.timeout = options.timeout;
  absl::StatusOr<std::unique_ptr<AdminClient>> client =
      AdminClient::Create(std::move(admin));
  CAPSTAN_RETURN_IF_ERROR(client.status());
  absl::StatusOr<std::string> body =
      RunOn((*client)->executor(),
            (*client)->Send(kTheChief, Method::kJobJoin,
                            EncodeJoinRequest(JoinRequest{address})));
  CAPSTAN_RETURN_IF_ERROR(body.status());
  return DecodeJoinReply(*body);
}

// The cluster that the chief describes, if it lists the worker as expected.
absl::StatusOr<ClusterSpec> ReadCluster(const std::string& json, TaskId task,
                                        const std::string& address) {
  absl::StatusOr<Json> parsed = ParseJson(json);
  CAPSTAN_RETURN_IF_ERROR(parsed.status());
  absl::StatusOr<ClusterSpec> spec = ReadClusterJson(*parsed);
  CAPSTAN_RETURN_IF_ERROR(spec.status());
  CAPSTAN_RETURN_IF_ERROR(ValidateCluster(*spec));
  if (task.role != Role::kWorker || !spec->contains(task) ||
      CanonicalAddress(spec->task_address(task)) != CanonicalAddress(address)) {
    return absl::InvalidArgumentError(
        absl::StrCat("its cluster has no ", task.ToString(), " at ", address));
  }
  return spec;
}

}  // namespace

absl::StatusOr<JoinedWorker> JoinJob(const JoinJobOptions& options) {
  CAPSTAN_RETURN_IF_ERROR(ValidateAddress(options.chief));
  JoinedWorker worker;
  CAPSTAN_RETURN_IF_ERROR(ChooseAddress(options, worker));
  const absl::StatusOr<JoinReply> reply = AskChief(options, worker.address);
  CAPSTAN_RETURN_IF_ERROR(reply.status());
  // A peer may send anything.
  const std::string odd = absl::StrCat("the answer of ", options.chief);
  const absl::StatusOr<TaskId> task = ParseTaskId(Printable(reply->task));
  if (!task.ok()) return WithContext(task.status(), odd);
  const absl::StatusOr<ClusterSpec> spec =
      ReadCluster(reply->cluster, *task, worker.address);
  if (!spec.ok()) return WithContext(spec.status(), odd);
  worker.job = Printable(reply->job);
  worker.task.id = *task;
  worker.task.program = options.program;
  worker.task.arguments = options.arguments;
  TaskEnvironmentOptions environment;
  environment.inherited = options.environment;
  environment.job_id = worker.job;
  environment.tls = options.tls;
  environment.token = options.token;
  environment.blas_core = options.blas_core;
  worker.task.environment = TaskEnvironment(*task, *spec, environment);
  return worker;
}

}  // namespace capstan
