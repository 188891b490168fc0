#include "harness/bench_program.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <utility>

#include "base/status.h"

namespace capstan {

BenchProgram::BenchProgram(std::string name, const std::string& purpose,
                           const Words& experiments, int rounds,
                           const std::string& choice)
    : name_(std::move(name)),
      app_(std::make_unique<CLI::App>(purpose)),
      chosen_(experiments),
      rounds_(rounds) {
  app_->add_option("--json", json_, "where to write the figures");
  app_->add_option(choice, chosen_, "which experiments, separated by commas")
      ->delimiter(',')
      ->check(CLI::IsMember(experiments));
  app_->add_option("--rounds", rounds_, "how often; figures are medians")
      ->check(CLI::Range(1, 1000));
}

BenchProgram::~BenchProgram() = default;

CLI::App& BenchProgram::AddCommand(const std::string& name,
                                   const std::string& help,
                                   std::function<absl::Status()> run) {
  CLI::App* command = app_->add_subcommand(name, help);
  command->callback(
      [this, run = std::move(run)]() mutable { command_ = std::move(run); });
  return *command;
}

void BenchProgram::AddChild(const std::string& name, const Words& arguments,
                            std::function<absl::Status(const Words&)> run) {
  const auto values = std::make_shared<Words>(arguments.size());
  CLI::App& child = AddCommand(
      name, "", [values, run = std::move(run)] { return run(*values); });
  child.group("");  // one without a name is not in --help
  for (size_t i = 0; i < arguments.size(); ++i) {
    child.add_option(arguments[i], (*values)[i]);
  }
}

int BenchProgram::Run(int argc, char** argv, const Measure& measure) {
  CLI11_PARSE(*app_, argc, argv);
  const Words words(argv, argv + argc);
  const absl::Status status =
      command_ ? command_()
               : MeasureAll(fmt::format("{}", fmt::join(words, " ")), measure);
  if (status.ok()) return 0;
  fmt::print(stderr, "{}: {}\n", name_, Describe(status));
  return 1;
}

absl::Status BenchProgram::MeasureAll(const std::string& command,
                                      const Measure& measure) {
  if (json_.empty()) {
    return absl::InvalidArgumentError("--json FILE is required");
  }
  Report report(command, rounds_);
  CAPSTAN_RETURN_IF_ERROR(report.Write(json_));
  CAPSTAN_RETURN_IF_ERROR(measure(chosen_, rounds_, report));
  return report.Write(json_);
}

}  // namespace capstan
