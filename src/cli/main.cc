// The program `capstan`: starts clusters and looks at them.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>

#include "cli/command.h"

namespace capstan {
namespace {

int Main(int argc, char** argv) {
  CLI::App app("Parameter-server training: start clusters, look at them.");
  app.require_subcommand(1);
  Action action;
  AddVersionCommand(app, action);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error);
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
