#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "base/error.h"
#include "capstan/resolver.h"
#include "cli/command.h"
#include "launch/local/last_run.h"
#include "launch/local/run_result.h"
#include "launch/status/ask_status.h"
#include "launch/status/status_text.h"
#include "launch/task_host.h"

namespace capstan {
namespace {

struct StatusFlags {
  std::string cluster;
  std::string tls;
  std::string token;
  bool variables = false;
  bool watch = false;
  double interval = 1;
  double timeout = 4;
};

// A job, and the file that describes it, if known.
struct Job {
  ResolvedCluster cluster;
  std::string file;
};

Job FindJob(const StatusFlags& flags, const Environment& environment) {
  Job job;
  DetectOptions detect;
  detect.environment = environment;
  detect.require_task = false;
  job.file = flags.cluster;
  detect.file = job.file;
  job.cluster = DetectCluster(detect);
  if (job.cluster.spec.empty()) {
    // The job last started in this directory.
    job.file = LastClusterFile();
    detect.file = job.file;
    if (!job.file.empty()) job.cluster = DetectCluster(detect);
  }
  if (job.cluster.spec.empty()) {
    throw Error(ErrorCode::kNotFound,
                "no job found: pass --cluster FILE, set TF_CONFIG, or run this "
                "in the directory where you started `capstan run`");
  }
  return job;
}

// Prints the result of a job that has ended and returns the exit code; nullopt,
// without printing, if the job may be running.
std::optional<int> PrintResult(const Job& job) {
  if (job.file.empty()) return std::nullopt;
  const absl::StatusOr<RunResult> result = ReadRunResult(job.file);
  if (!result.ok()) return std::nullopt;
  const std::filesystem::path logs =
      (std::filesystem::path(job.file).parent_path() / "logs")
          .lexically_normal();
  fmt::print("{}", ResultText(JobName(job.cluster), *result, logs.string()));
  return result->exit_code;
}

// Returns whether every task answers.
bool PrintStatus(const AdminOptions& options, bool variables) {
  const JobStatus status = ValueOrThrow(AskStatus(options));
  fmt::print("{}", StatusText(JobName(options.cluster), status, variables));
  return status.chief.ok() && status.CountThere() == status.tasks.size();
}

int RunStatus(const StatusFlags& flags) {
  const Environment environment = Environment::FromProcess();
  const Job job = FindJob(flags, environment);
  AdminOptions options;
  options.cluster = job.cluster;
  options.tls_directory = flags.tls.empty()
                              ? environment.Get("CAPSTAN_TLS").value_or("")
                              : flags.tls;
  options.token_file = flags.token.empty()
                           ? environment.Get("CAPSTAN_TOKEN").value_or("")
                           : flags.token;
  options.timeout = std::chrono::round<Duration>(
      std::chrono::duration<double>(flags.timeout));
  while (true) {
    if (flags.watch) fmt::print("\033[H\033[2J");
    const std::optional<int> ended = PrintResult(job);
    if (ended) return *ended == 0 ? 0 : 1;
    const bool well = PrintStatus(options, flags.variables);
    std::fflush(stdout);
    if (!flags.watch) return well ? 0 : 1;
    std::this_thread::sleep_for(std::chrono::duration<double>(flags.interval));
  }
}

}  // namespace

void AddStatusCommand(CLI::App& app, Action& action) {
  CLI::App* command =
      app.add_subcommand("status", "Show the tasks of a job and how they are");
  auto flags = std::make_shared<StatusFlags>();
  command->add_option("--cluster", flags->cluster,
                      "the cluster as a YAML file (TF_CONFIG, or the job last "
                      "started by `capstan run` in this folder)");
  command->add_option("--tls", flags->tls,
                      "the folder of certificates, with those of admin");
  command->add_option("--token", flags->token,
                      "a file with the job's token, if its tasks have one");
  command->add_flag("--variables", flags->variables,
                    "each shard of each variable, too");
  command->add_flag("--watch", flags->watch,
                    "refresh until Ctrl-C, or until the job has ended");
  command
      ->add_option("--interval", flags->interval, "seconds between refreshes")
      ->check(CLI::Range(0.1, 3600.0))
      ->capture_default_str();
  command
      ->add_option("--timeout", flags->timeout,
                   "seconds to wait for the tasks' answers, in total")
      ->check(CLI::Range(0.1, 3600.0))
      ->capture_default_str();
  command->footer(
      "If the chief does not answer within half of the timeout, the other "
      "tasks are asked directly. For a job of `capstan run` that has ended, "
      "its result is shown.\n\n"
      "The exit code is 0 if every task answers, or if the job has finished "
      "with exit code 0; else 1.\n\nExamples:\n"
      "  capstan status\n"
      "  capstan status --watch --cluster cluster.yaml --tls certs");
  command->callback(
      [flags, &action] { action = [flags] { return RunStatus(*flags); }; });
}

}  // namespace capstan
