#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/error.h"
#include "capstan/resolver.h"
#include "cli/command.h"
#include "launch/ask_dispatch.h"
#include "launch/ask_status.h"
#include "launch/ask_stores.h"
#include "launch/dispatch_table.h"
#include "launch/last_run.h"
#include "launch/store_table.h"
#include "launch/task_host.h"

namespace capstan {
namespace {

struct Flags {
  std::string cluster;
  std::string tls;
  std::string token;
  bool variables = false;
  bool watch = false;
  double interval = 1;
};

// The exit code says whether all is well: 0 if every task answers.
int PrintStatus(const AdminOptions& options, bool variables) {
  const JobStatus status = ValueOrThrow(AskStatus(options));
  bool well = status.coordinator_error.empty();
  if (well) {
    fmt::print("job {}, term {}\n", JobName(options.cluster), status.term);
  } else {
    fmt::print("job {}: the coordinator does not answer: {}\n",
               JobName(options.cluster), status.coordinator_error);
  }
  fmt::print("{}", ToTable(status.tasks));
  for (const TaskInfo& task : status.tasks) {
    if (!task.error.empty()) fmt::print("{}\n", task.error);
    well = well && (task.state == MemberState::kHealthy ||
                    task.state == MemberState::kRestarted);
  }
  const absl::StatusOr<DispatchReport> dispatch = AskDispatch(options);
  const std::string work = dispatch.ok() ? DispatchTable(*dispatch) : "";
  if (!work.empty()) fmt::print("\n{}", work);
  const std::vector<ServerStore> stores = ValueOrThrow(AskStores(options));
  const std::string servers = StoresTable(stores);
  if (!servers.empty()) fmt::print("\n{}", servers);
  if (variables) fmt::print("\n{}", VariablesTable(stores));
  std::fflush(stdout);
  return well ? 0 : 1;
}

int RunStatus(const Flags& flags) {
  DetectOptions detect;
  detect.file = flags.cluster;
  detect.require_task = false;
  AdminOptions options;
  options.cluster = DetectCluster(detect);
  if (options.cluster.spec.empty()) {
    // The job that was last started here.
    const std::string file = LastClusterFile();
    if (!file.empty()) {
      detect.file = file;
      options.cluster = DetectCluster(detect);
    }
  }
  if (options.cluster.spec.empty()) {
    throw Error(ErrorCode::kNotFound,
                "no job to look at: give --cluster FILE, set TF_CONFIG, or be "
                "where `capstan run` was started");
  }
  options.tls_directory =
      flags.tls.empty() ? detect.environment.Get("CAPSTAN_TLS").value_or("")
                        : flags.tls;
  options.token_file =
      flags.token.empty() ? detect.environment.Get("CAPSTAN_TOKEN").value_or("")
                          : flags.token;
  while (flags.watch) {
    fmt::print("\033[H\033[2J");
    PrintStatus(options, flags.variables);
    std::this_thread::sleep_for(std::chrono::duration<double>(flags.interval));
  }
  return PrintStatus(options, flags.variables);
}

}  // namespace

void AddStatusCommand(CLI::App& app, Action& action) {
  CLI::App* command =
      app.add_subcommand("status", "Show the tasks of a job and how they are");
  auto flags = std::make_shared<Flags>();
  command->add_option("--cluster", flags->cluster,
                      "the cluster as a YAML file (TF_CONFIG, or the job last "
                      "started by `capstan run` in this folder)");
  command->add_option("--tls", flags->tls,
                      "the folder of certificates, with those of admin");
  command->add_option("--token", flags->token,
                      "a file with the job's token, if its tasks have one");
  command->add_flag("--variables", flags->variables,
                    "each shard of each variable, too");
  command->add_flag("--watch", flags->watch, "again and again, until Ctrl-C");
  command->add_option("--interval", flags->interval, "seconds between (1)")
      ->check(CLI::Range(0.1, 3600.0));
  command->footer(
      "The exit code is 0 if every task answers.\n\nExamples:\n"
      "  capstan status\n"
      "  capstan status --watch --cluster cluster.yaml --tls certs");
  command->callback(
      [flags, &action] { action = [flags] { return RunStatus(*flags); }; });
}

}  // namespace capstan
