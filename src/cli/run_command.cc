#include <fmt/core.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "cli/command.h"
#include "cli/usage_error.h"
#include "launch/run_local_job.h"

namespace capstan {
namespace {

constexpr int kMaxTasks = 1000;

constexpr char kFooter[] = R"(
The chief, the workers and the evaluator run PROGRAM; the parameter servers run
`capstan server`. Each finds in TF_CONFIG who is in the job and which task it is
(CAPSTAN_TASK has the latter alone), and reads nothing from standard input. Each
line of output is shown with its task before it; runs/<time>-<pid>/logs/ has the
output whole.

The job ends when PROGRAM ends in the chief, or when a task fails and has no
restarts left; its failure is then shown last. The exit code is that of PROGRAM
in the chief: 128 plus the signal's number if it was killed, 126 if PROGRAM
cannot be executed, 127 if there is none, and 1 if another task failed although
the chief ended with 0. Ctrl-C ends all tasks within 2 s; pressed again, it
kills them.

Examples:
  capstan run -- ./train --epochs 3
  capstan run -w 4 -s 2 --evaluator -- python3 train.py
  capstan run --max-restarts 3 -- ./train
  capstan run -w 1 -s 1 -- sh -c 'echo "$TF_CONFIG"'
)";

class Formatter final : public CLI::Formatter {
  std::string make_usage(const CLI::App* /*app*/,
                         std::string /*name*/) const override {
    return "Usage: capstan run [OPTIONS] -- PROGRAM [ARGS]\n";
  }
};

struct Flags {
  RunLocalJobOptions options;
  std::string program;
};

std::vector<std::string> ProcessEnvironment() {
  std::vector<std::string> entries;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    entries.emplace_back(*entry);
  }
  return entries;
}

int Run(RunLocalJobOptions options) {
  options.job.environment = ProcessEnvironment();
  if (!options.job.tls.empty()) {
    // PROGRAM may go to another folder before it reads it.
    options.job.tls = std::filesystem::absolute(options.job.tls).string();
  }
  const char* path = std::getenv("PATH");
  options.search_path = path == nullptr ? "/usr/local/bin:/usr/bin:/bin" : path;
  const absl::StatusOr<int> code = RunLocalJob(std::move(options));
  if (code.ok()) return *code;
  fmt::print(stderr, "capstan: {}\n", Describe(code.status()));
  return 1;
}

// What the parser took for none of its own: PROGRAM's arguments, if they come
// after "--", which only then are certain not to be meant for us.
void TakeArguments(const CLI::App& command, Flags& flags) {
  std::vector<std::string> rest = command.remaining();
  if (!rest.empty()) {
    if (std::find(rest.begin(), rest.end(), "--") == rest.end()) {
      throw CLI::ParseError(
          fmt::format("unknown '{}': put -- before PROGRAM and its arguments",
                      rest.front()),
          kUsageExitCode);
    }
    if (rest.front() != "--") throw CLI::ExtrasError(rest);
    rest.erase(rest.begin());
  }
  flags.options.job.program = flags.program;
  flags.options.job.arguments = {flags.program};
  flags.options.job.arguments.insert(flags.options.job.arguments.end(),
                                     rest.begin(), rest.end());
}

}  // namespace

void AddRunCommand(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand(
      "run", "Run a program as a whole cluster of processes on this machine");
  auto flags = std::make_shared<Flags>();
  LocalJobOptions& job = flags->options.job;
  command->formatter(std::make_shared<Formatter>());
  command->footer(kFooter);
  command->add_option("-w,--workers", job.workers, "How many workers there are")
      ->check(CLI::Range(1, kMaxTasks))
      ->capture_default_str();
  command
      ->add_option("-s,--servers", job.servers,
                   "How many parameter servers there are")
      ->check(CLI::Range(1, kMaxTasks))
      ->capture_default_str();
  command->add_flag("--evaluator", job.evaluator, "Add an evaluator");
  command
      ->add_option("--max-restarts", flags->options.supervisor.max_restarts,
                   "How often each task is started again after it failed")
      ->check(CLI::Range(0, 1'000'000))
      ->capture_default_str();
  command
      ->add_option("--tls", job.tls,
                   "Encrypt, with the certificates in this folder (as from "
                   "`capstan certs`)")
      ->check(CLI::ExistingDirectory)
      ->type_name("DIR");
  command->add_option("PROGRAM", flags->program, "What to run")->required();
  // All that follows PROGRAM is left as it is.
  command->prefix_command();
  command->callback([command, flags, &action] {
    TakeArguments(*command, *flags);
    action = [flags] { return Run(flags->options); };
  });
}

}  // namespace capstan
