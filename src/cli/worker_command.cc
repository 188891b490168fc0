#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "capstan/resolver.h"
#include "cli/command.h"
#include "cli/program_arguments.h"
#include "cli/usage_error.h"
#include "cluster/address.h"
#include "cluster/process_variables.h"
#include "launch/blas/blas_core.h"
#include "launch/join_job.h"
#include "launch/local/last_run.h"
#include "launch/local/task_options.h"
#include "launch/system/cpu_features.h"
#include "launch/system/find_program.h"
#include "launch/system/spawn.h"

namespace capstan {
namespace {

constexpr char kWorkerUsage[] =
    "Usage: capstan worker --join CHIEF [OPTIONS] -- PROGRAM [ARGS]";

constexpr char kWorkerFooter[] = R"(
Asks the chief of a job that runs to take in another worker, and becomes
PROGRAM, which finds in TF_CONFIG who is in the job and which task it is
(CAPSTAN_TASK has the latter alone). The address of the chief is in `capstan
status` and, for a job that `capstan run` has started, in runs/*/cluster.yaml.
The worker ends with the job; SIGTERM makes it leave before that, and the chief
forgets it after a minute.

Without TLS the chief has to be on this machine, or both sides need
CAPSTAN_INSECURE_NETWORK=1. The exit code is that of PROGRAM: 126 if it cannot
be executed, 127 if there is none, and 1 if it may not join.

Examples:
  capstan worker --join unix:/tmp/capstan-Xb3dKq/chief-0 -- ./train
  capstan worker --join node1:7077 --listen node9:7077 --tls tls -- ./train)";

struct WorkerFlags {
  JoinJobOptions options;
  std::string program;
};

// The id of the job last started in this directory, if `chief` is its chief.
std::string JobOfLastRun(const std::string& chief) {
  const std::string file = LastClusterFile();
  if (file.empty()) return "";
  try {
    const ResolvedCluster last =
        FileClusterResolver(file, {}, Environment()).Resolve();
    const std::string& address = last.spec.task_address({Role::kChief, 0});
    return CanonicalAddress(address) == CanonicalAddress(chief) ? last.job_id
                                                                : "";
  } catch (const Error&) {
    // Only a guess; the chief reports what is wrong with it.
    return "";
  }
}

// Fills in what the flags leave unset.
void Complete(JoinJobOptions& options) {
  const Environment environment = Environment::FromProcess();
  const TaskOptions task = ValueOrThrow(ReadTaskOptions(environment, {}));
  if (options.tls.empty()) options.tls = task.tls_directory;
  if (options.token.empty()) options.token = task.token_file;
  options.tls = AbsolutePath(options.tls);
  options.token = AbsolutePath(options.token);
  options.insecure_network = task.insecure_network;
  if (options.job_id.empty()) {
    const std::optional<std::string> job = environment.Get("CAPSTAN_JOB_ID");
    options.job_id = job ? *job : JobOfLastRun(options.chief);
  }
  options.environment = ProcessVariables();
  options.blas_core = OpenBlasCoreFor(ReadCpuFeatures());
}

int Run(JoinJobOptions options) {
  absl::StatusOr<std::string> program =
      FindProgram(options.program, SearchPath());
  if (!program.ok()) {
    fmt::print(stderr, "capstan: {}\n",
               std::string(program.status().message()));
    return CannotRunExitCode(program.status());
  }
  options.program = *std::move(program);
  Complete(options);
  absl::StatusOr<JoinedWorker> worker = JoinJob(options);
  if (!worker.ok()) {
    const bool may_be_other_job = absl::IsFailedPrecondition(worker.status());
    fmt::print(stderr, "capstan: cannot join: {}{}\n",
               std::string(worker.status().message()),
               may_be_other_job ? "; pass --job ID to say which job you mean "
                                  "(job_id in its runs/*/cluster.yaml)"
                                : "");
    return 1;
  }
  fmt::print(stderr, "capstan: joins job {} as {} at {}\n", worker->job,
             worker->task.id.ToString(), worker->address);
  if (worker->port) worker->port->KeepThroughExec();
  const absl::Status failed = Become(
      worker->task.program, worker->task.arguments, worker->task.environment);
  fmt::print(stderr, "capstan: {}\n", std::string(failed.message()));
  return CannotRunExitCode(failed);
}

}  // namespace

void AddWorkerCommand(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand(
      "worker", "Add a worker, which runs a program, to a job that runs");
  auto flags = std::make_shared<WorkerFlags>();
  JoinJobOptions& options = flags->options;
  command->footer(kWorkerFooter);
  command->add_option("--join", options.chief, "The address of the job's chief")
      ->type_name("ADDRESS");
  command
      ->add_option("--listen", options.listen,
                   "Where the chief can reach this worker (a socket beside the "
                   "chief's, or a free port of 127.0.0.1)")
      ->type_name("ADDRESS");
  command->add_option("--job", options.job_id,
                      "The id of the job (CAPSTAN_JOB_ID, or that of the job "
                      "last started by `capstan run` in this folder)");
  command
      ->add_option("--tls", options.tls,
                   "The folder of certificates, with those of worker")
      ->type_name("DIR");
  command
      ->add_option("--token", options.token,
                   "A file with the job's token, if its tasks have one")
      ->type_name("FILE");
  TakeProgram(*command, flags->program, kWorkerUsage);
  command->callback([command, flags, &action] {
    if (flags->options.chief.empty()) {
      throw CLI::ParseError(
          "say which job to join: --join ADDRESS, that of its chief "
          "(`capstan status` shows it); for a whole job use `capstan run`",
          kUsageExitCode);
    }
    flags->options.program = flags->program;
    flags->options.arguments = ProgramArguments(*command, flags->program);
    action = [flags] { return Run(flags->options); };
  });
}

}  // namespace capstan
