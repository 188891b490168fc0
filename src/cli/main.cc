// The program `capstan`: starts clusters and inspects them.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>

#include "cli/command.h"
#include "cli/usage_error.h"

namespace capstan {
namespace {

constexpr char kFooter[] = R"(
Examples:
  capstan new click                   write a program to begin with
  capstan run -w 2 -s 1 -- ./train    start ./train as a cluster on this machine
  capstan status --watch              see how its tasks are, meanwhile
  capstan worker --join node1:7077 -- ./train        add a worker to it
  capstan run --tls tls -- ./train    the same, encrypted; first make the keys:
  capstan certs tls --job train
  capstan checkpoint ls runs/a/checkpoints    see what was saved
  capstan run --help                  all about one command

The exit code is 0 if all went well, 2 if the command line is wrong, and else
what the command says.)";

int Main(int argc, char** argv) {
  CLI::App app("Parameter-server training: start clusters, look at them.",
               "capstan");
  app.require_subcommand(1);
  app.footer(kFooter);
  Action action;
  AddCertsCommand(app, action);
  AddCheckpointCommand(app, action);
  AddDoctorCommand(app, action);
  AddNewCommand(app, action);
  AddRunCommand(app, action);
  AddServerCommand(app, action);
  AddStatusCommand(app, action);
  AddVersionCommand(app, action);
  AddWorkerCommand(app, action);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help
    fmt::print(stderr, "capstan: {}\n", DescribeUsageError(app, error));
    return kUsageExitCode;
  }
  return action();
}

}  // namespace
}  // namespace capstan

int main(int argc, char** argv) {
  try {
    return capstan::Main(argc, argv);
  } catch (const std::exception& error) {
    fmt::print(stderr, "capstan: {}\n", error.what());
    return 1;
  }
}
