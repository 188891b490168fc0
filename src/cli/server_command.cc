#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "base/error.h"
#include "capstan/resolver.h"
#include "cli/command.h"
#include "launch/local/task_options.h"
#include "launch/member_task.h"
#include "launch/run_member.h"

namespace capstan {
namespace {

struct ServerFlags {
  std::string cluster;
  std::string task;
  std::string listen;
  std::string tls;
  std::string token;
  std::string log_level;
  bool insecure_network = false;
  int threads = 0;
  int memory = 0;
  std::string checkpoint_dir;
};

int RunServer(const ServerFlags& flags) {
  DetectOptions detect;
  detect.file = flags.cluster;
  if (!flags.task.empty()) {
    const TaskId task = TaskId::Parse(flags.task);
    detect.overrides.task_type = task.role;
    detect.overrides.task_index = task.index;
  }
  const ResolvedCluster cluster = DetectCluster(detect);
  if (cluster.spec.empty()) {
    throw Error(ErrorCode::kFailedPrecondition,
                "a server needs to know its cluster: set TF_CONFIG, give "
                "--cluster FILE, or start everything with `capstan run`");
  }
  if (cluster.task && cluster.task->role == Role::kChief) {
    throw Error(ErrorCode::kInvalidArgument,
                "the chief runs the program, not `capstan server`",
                cluster.task->ToString());
  }
  TaskOptions options =
      ValueOrThrow(ReadTaskOptions(detect.environment, cluster));
  if (!flags.listen.empty()) options.listen = flags.listen;
  if (!flags.tls.empty()) options.tls_directory = flags.tls;
  if (!flags.token.empty()) options.token_file = flags.token;
  if (flags.insecure_network) options.insecure_network = true;
  if (flags.threads > 0) options.threads = flags.threads;
  if (flags.memory > 0) {
    options.memory_bytes = static_cast<uint64_t>(flags.memory) * kMegabyte;
  }
  if (!flags.checkpoint_dir.empty()) {
    options.checkpoint_root = flags.checkpoint_dir;
  }
  if (!flags.log_level.empty()) {
    options.log_level = ValueOrThrow(ParseLogLevel(flags.log_level));
  }
  const std::unique_ptr<MemberTask> task =
      ValueOrThrow(MemberTask::Start(std::move(options)));
  task->host().logger().Info("{}; listens on {}", cluster.ToString(),
                             task->host().address());
  return RunMember(*task);
}

}  // namespace

void AddServerCommand(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand(
      "server",
      "Run one task of a cluster: a parameter server, or a worker "
      "without a program of its own");
  auto flags = std::make_shared<ServerFlags>();
  command->add_option("--cluster", flags->cluster,
                      "the cluster as a YAML file (instead of TF_CONFIG, "
                      "Slurm or Kubernetes)");
  command->add_option("--task", flags->task, "which task this is, as in ps/0");
  command->add_option("--listen", flags->listen,
                      "the address to listen on (the task's in the cluster)");
  command->add_option("--tls", flags->tls,
                      "the folder of certificates that `capstan certs` made");
  command->add_option("--token", flags->token,
                      "a file with the job's token, which all of its tasks "
                      "must then show; needs --tls");
  command->add_flag("--insecure-network", flags->insecure_network,
                    "listen beyond this machine without TLS");
  command
      ->add_option("--threads", flags->threads,
                   "threads of a ps (one for each core)")
      ->check(CLI::Range(1, 1024));
  command
      ->add_option("--memory", flags->memory,
                   "megabytes that the variables of a ps may take (four "
                   "fifths of what the machine has to spare)")
      ->check(CLI::Range(1, 1'000'000'000));
  command->add_option("--checkpoint-dir", flags->checkpoint_dir,
                      "where a ps writes and reads checkpoints, if it sees "
                      "the same disk as the chief; made if it is missing");
  command->add_option("--log-level", flags->log_level,
                      "trace, debug, info, warning, error or off (info)");
  command->footer(
      "The cluster is found as docs/cluster.md says. The server ends with the "
      "job,\nor 60 s after its coordinator is gone (CAPSTAN_RETURN_TIMEOUT).\n"
      "\nExamples:\n"
      "  TF_CONFIG='{\"cluster\": ..., \"task\": ...}' capstan server\n"
      "  capstan server --cluster cluster.yaml --task ps/0 --tls certs");
  command->callback(
      [flags, &action] { action = [flags] { return RunServer(*flags); }; });
}

}  // namespace capstan
