#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <memory>
#include <string>

#include "cli/command.h"
#include "cluster/process_variables.h"
#include "launch/blas/system_blas.h"
#include "launch/doctor/diagnose.h"

namespace capstan {
namespace {

std::string Counted(int count, const std::string& what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

constexpr Duration kProbeTimeout = std::chrono::seconds(20);

struct DoctorFlags {
  DiagnoseOptions options;
  bool json = false;
  bool probe_blas = false;
};

// Runs in the process that RunDoctor starts to probe the BLAS.
int PrintBlas() {
  const absl::StatusOr<BlasInfo> blas = LoadAndProbeBlas();
  fmt::print("{}\n",
             blas.ok() ? ToJson(*blas) : std::string(blas.status().message()));
  return blas.ok() ? 0 : 1;
}

int RunDoctor(DiagnoseOptions options, bool json) {
  options.probe_blas = [] {
    return ProbeSystemBlas("/proc/self/exe",
                           {"capstan", "doctor", "--probe-blas"},
                           ProcessVariables(), kProbeTimeout);
  };
  const Findings findings = Diagnose(options);
  const int problems = Count(findings, FindingLevel::kProblem);
  if (json) {
    fmt::print("{}\n", ToJson(findings));
    return problems == 0 ? 0 : 1;
  }
  for (const Finding& finding : findings) fmt::print("{}\n", ToLine(finding));
  fmt::print("{}, {}\n", Counted(problems, "problem"),
             Counted(Count(findings, FindingLevel::kWarning), "warning"));
  return problems == 0 ? 0 : 1;
}

}  // namespace

void AddDoctorCommand(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand(
      "doctor", "Say what is wrong with this machine or a cluster");
  auto flags = std::make_shared<DoctorFlags>();
  DiagnoseOptions* options = &flags->options;
  command->add_option("--cluster", options->cluster_file,
                      "the cluster as a YAML file (instead of TF_CONFIG, "
                      "Slurm or Kubernetes)");
  command->add_option("--tls", options->tls_directory,
                      "the folder of certificates to look at; with those of "
                      "admin, to ask the tasks too (CAPSTAN_TLS)");
  command->add_option("--token", options->token_file,
                      "a file with the job's token, if its tasks have one "
                      "(CAPSTAN_TOKEN)");
  command->add_flag("--json", flags->json,
                    "print all of it as one line of JSON");
  // Internal, so hidden from the help.
  command->add_flag("--probe-blas", flags->probe_blas)->group("");
  command->footer(
      "Looks at CPU, BLAS, limits, memory, disk, network and clock of this "
      "machine; with a\ncluster, at its addresses and every task; with --tls, "
      "at the certificates. The\nexit code is 1 if there is a PROBLEM, else "
      "0.\n"
      "\nExamples:\n"
      "  capstan doctor\n"
      "  capstan doctor --cluster cluster.yaml --tls certs");
  command->callback([flags, &action] {
    action = [flags] {
      return flags->probe_blas ? PrintBlas()
                               : RunDoctor(flags->options, flags->json);
    };
  });
}

}  // namespace capstan
