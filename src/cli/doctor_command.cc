#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "cli/command.h"
#include "launch/diagnose.h"

namespace capstan {
namespace {

std::string Counted(int count, const std::string& what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

int RunDoctor(const DiagnoseOptions& options) {
  const Findings findings = Diagnose(options);
  for (const Finding& finding : findings) fmt::print("{}\n", ToLine(finding));
  const int problems = Count(findings, FindingLevel::kProblem);
  fmt::print("{}, {}\n", Counted(problems, "problem"),
             Counted(Count(findings, FindingLevel::kWarning), "warning"));
  return problems == 0 ? 0 : 1;
}

}  // namespace

void AddDoctorCommand(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand(
      "doctor", "Say what is wrong with this machine or a cluster");
  auto options = std::make_shared<DiagnoseOptions>();
  command->add_option("--cluster", options->cluster_file,
                      "the cluster as a YAML file (instead of TF_CONFIG, "
                      "Slurm or Kubernetes)");
  command->add_option("--tls", options->tls_directory,
                      "the folder of certificates to look at; with those of "
                      "admin, to ask the tasks too (CAPSTAN_TLS)");
  command->add_option("--token", options->token_file,
                      "a file with the job's token, if its tasks have one "
                      "(CAPSTAN_TOKEN)");
  command->footer(
      "Looks at limits, memory, disk and clock of this machine; with a "
      "cluster, at its\naddresses and every task; with --tls, at the "
      "certificates. The exit code is 1 if\nthere is a PROBLEM, else 0.\n"
      "\nExamples:\n"
      "  capstan doctor\n"
      "  capstan doctor --cluster cluster.yaml --tls certs");
  command->callback([options, &action] {
    action = [options] { return RunDoctor(*options); };
  });
}

}  // namespace capstan
