#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "cli/command.h"
#include "cli/new_project.h"

namespace capstan {
namespace {

int RunNew(const std::string& directory) {
  const absl::Status written = WriteStarterProject(directory);
  if (!written.ok()) {
    fmt::print(stderr, "capstan: {}\n", std::string(written.message()));
    return 1;
  }
  fmt::print("A project is in {}. Now:\n\n  cd {}\n", directory, directory);
  fmt::print("  cmake -B build && cmake --build build\n");
  fmt::print("\nREADME.md says how to run it.\n");
  return 0;
}

}  // namespace

void AddNewCommand(CLI::App& app, Action& action) {
  CLI::App* command =
      app.add_subcommand("new", "Write a starter project into a new directory");
  auto directory = std::make_shared<std::string>();
  command->add_option("DIR", *directory, "where; it must be new or empty")
      ->required()
      ->type_name("");
  command->footer(
      "Writes CMakeLists.txt, main.cc and README.md of a small program that "
      "trains. The\nexit code is 1 if DIR is not empty or cannot be written.\n"
      "\nExamples:\n"
      "  capstan new click && cd click\n"
      "  cmake -B build && cmake --build build && build/click");
  command->callback([directory, &action] {
    action = [directory] { return RunNew(*directory); };
  });
}

}  // namespace capstan
