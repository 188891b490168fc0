#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "base/file/open_folder.h"
#include "base/status.h"
#include "capstan/error.h"
#include "capstan/resolver.h"
#include "cli/command.h"
#include "cli/program_arguments.h"
#include "cluster/process_variables.h"
#include "launch/blas/blas_core.h"
#include "launch/local/run_local_job.h"
#include "launch/system/cpu_features.h"
#include "launch/system/machine_facts.h"
#include "launch/system/server_memory.h"

namespace capstan {
namespace {

constexpr int kMaxTasks = 1000;

constexpr char kRunFooter[] = R"(
The chief, the workers and the evaluator run PROGRAM; the parameter servers run
`capstan server`. Each finds in TF_CONFIG who is in the job and which task it is
(CAPSTAN_TASK has the latter alone), and reads nothing from standard input. Each
line of output is shown with its task before it; runs/<time>-<pid>/logs/ has the
output whole.

The job ends when PROGRAM ends in the chief. It continues without a worker that
fails and has no restarts left, as long as there is another worker, and without
the evaluator; with --checkpoint-dir also without a parameter server, as long as
there is another one: what it held is in the newest checkpoint. When the last
worker or server fails, or without --checkpoint-dir any server, the job cannot
continue: the chief has --report-timeout to report that, then all tasks are
stopped. A chief that fails is restarted, too, unless it has told the others
that the job is over, as after an exception. What failed first, and the chief's
own error, are shown last. The evaluator has an hour after the chief's end to
evaluate the last checkpoints, the others have 2 s.

The exit code is that of PROGRAM in the chief: 128 plus the signal's number if
it was killed, 126 if PROGRAM cannot be executed, 127 if there is none. If the
chief did not end by itself, it is the code of the task whose failure stopped
the job. It is 130 after Ctrl-C, 143 if capstan run got SIGTERM, and 129 if it
got SIGHUP. Ctrl-C stops all tasks within 2 s; pressed again, it kills them.

The workers share the cores of the machine: OMP_NUM_THREADS,
OPENBLAS_NUM_THREADS and CAPSTAN_COMPUTE_THREADS, unless they are set, say how
many each of their functions has; OPENBLAS_CORETYPE, unless it is set, names the
kernels for this CPU. The servers share four fifths of the memory that the
machine has to spare at the start: CAPSTAN_MEMORY, unless it is set, says how
many megabytes each may fill with variables. More workers may join: see
capstan worker --help.

The tasks talk over Unix sockets in a folder of mode 0700 in $TMPDIR or /tmp:
no other user of the machine can reach them. With --tcp they listen on free
ports of 127.0.0.1, where every user can.

Examples:
  capstan run -- ./train --epochs 3
  capstan run -w 4 -s 2 --evaluator -- python3 train.py
  capstan run --max-restarts 3 -- ./train
  capstan run -w 1 -s 1 -- sh -c 'echo "$TF_CONFIG"'
)";

constexpr char kRunUsage[] = "Usage: capstan run [OPTIONS] -- PROGRAM [ARGS]";

struct RunFlags {
  RunLocalJobOptions options;
  double report_seconds = 10;
  std::string program;
};

int Run(RunLocalJobOptions options) {
  options.job.environment = ProcessVariables();
  options.job.blas_core = OpenBlasCoreFor(ReadCpuFeatures());
  options.job.tls = AbsolutePath(options.job.tls);
  options.job.checkpoint_directory =
      AbsolutePath(options.job.checkpoint_directory);
  if (!options.job.checkpoint_directory.empty()) {
    options.supervisor.go_on_without_servers = true;
    // Check here, or each server would report the error separately.
    try {
      OpenFolder(options.job.checkpoint_directory, IfMissing::kCreate);
    } catch (const Error& error) {
      fmt::print(stderr, "capstan: --checkpoint-dir: {}\n", error.what());
      return 1;
    }
  }
  options.job.cores = static_cast<int>(std::thread::hardware_concurrency());
  // Computed once: a restarted server would see less free memory, but must hold
  // as much as before.
  const uint64_t memory =
      ServerMemory(ReadMachineFacts("."), options.job.servers);
  options.job.server_memory = memory == UINT64_MAX ? 0 : memory;
  options.search_path = SearchPath();
  options.socket_parent = Environment::FromProcess().Get("TMPDIR").value_or("");
  const absl::StatusOr<int> code = RunLocalJob(std::move(options));
  if (code.ok()) return *code;
  fmt::print(stderr, "capstan: {}\n", Describe(code.status()));
  return 1;
}

}  // namespace

void AddRunCommand(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand(
      "run", "Run a program as a whole cluster of processes on this machine");
  auto flags = std::make_shared<RunFlags>();
  LocalJobOptions& job = flags->options.job;
  command->footer(kRunFooter);
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
      ->add_option("--concurrency", job.concurrency,
                   "How many functions each worker runs at once "
                   "(CAPSTAN_CONCURRENCY, or 1)")
      ->check(CLI::Range(1, 1024));
  command
      ->add_option("--max-restarts", flags->options.supervisor.max_restarts,
                   "How often each task is started again after it failed")
      ->check(CLI::Range(0, 1'000'000))
      ->capture_default_str();
  command
      ->add_option("--report-timeout", flags->report_seconds,
                   "How many seconds the chief has to report that the job "
                   "cannot continue")
      ->check(CLI::Range(0.0, 86'400.0))
      ->capture_default_str();
  command
      ->add_option("--tls", job.tls,
                   "Encrypt, with the certificates in this folder (as from "
                   "`capstan certs`)")
      ->check(CLI::ExistingDirectory)
      ->type_name("DIR");
  command->add_flag("--tcp", flags->options.tcp,
                    "Use TCP on 127.0.0.1 instead of Unix sockets; without "
                    "--tls every user of this machine can connect");
  command
      ->add_option("--checkpoint-dir", job.checkpoint_directory,
                   "Save checkpoints here, and go on from the newest one that "
                   "is here (CAPSTAN_CHECKPOINT_DIR)")
      ->type_name("DIR");
  TakeProgram(*command, flags->program, kRunUsage);
  command->callback([command, flags, &action] {
    flags->options.job.program = flags->program;
    flags->options.supervisor.report_grace = std::chrono::round<Duration>(
        std::chrono::duration<double>(flags->report_seconds));
    flags->options.job.arguments = ProgramArguments(*command, flags->program);
    action = [flags] { return Run(flags->options); };
  });
}

}  // namespace capstan
