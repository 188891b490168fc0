#include <fmt/core.h>

#include <CLI/CLI.hpp>

#include "capstan/version.h"
#include "cli/command.h"

namespace capstan {

void AddVersionCommand(CLI::App& app, Action& action) {
  CLI::App* command =
      app.add_subcommand("version", "Print the version of this program");
  command->callback([&action] {
    action = [] {
      fmt::print("capstan {}\n", Version());
      return 0;
    };
  });
}

}  // namespace capstan
