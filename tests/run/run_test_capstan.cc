// The program `capstan` with the real `run`, and a `server` that runs the shell
// script in TEST_SERVER instead: a test says what parameter servers do.
#include <fmt/core.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>

#include "cli/command.h"
#include "cli/usage_error.h"

namespace capstan {
namespace {

int RunServer() {
  const char* script = std::getenv("TEST_SERVER");
  if (script == nullptr) return 0;
  execl("/bin/sh", "sh", "-c", script, nullptr);
  return 127;
}

int Main(int argc, char** argv) {
  CLI::App app("Test", "capstan");
  app.require_subcommand(1);
  Action action;
  AddRunCommand(app, action);
  app.add_subcommand("server")->callback([&] { action = RunServer; });
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);
    fmt::print(stderr, "capstan: {}\n", DescribeUsageError(app, error));
    return kUsageExitCode;
  }
  return action();
}

}  // namespace
}  // namespace capstan

int main(int argc, char** argv) { return capstan::Main(argc, argv); }
