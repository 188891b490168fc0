// The commands of `capstan`. Each Add function adds one to the program's
// parser; if the user chooses it, `action` is set to a function that runs the
// command and returns the program's exit code. Actions report errors in one
// line on standard error; they throw only capstan::Error, which main prints.
#pragma once

#include <functional>

namespace CLI {
class App;
}  // namespace CLI

namespace capstan {

using Action = std::function<int()>;

void AddCertsCommand(CLI::App& app, Action& action);
void AddCheckpointCommand(CLI::App& app, Action& action);
void AddDoctorCommand(CLI::App& app, Action& action);
void AddNewCommand(CLI::App& app, Action& action);
void AddRunCommand(CLI::App& app, Action& action);
void AddServerCommand(CLI::App& app, Action& action);
void AddStatusCommand(CLI::App& app, Action& action);
void AddVersionCommand(CLI::App& app, Action& action);
void AddWorkerCommand(CLI::App& app, Action& action);

}  // namespace capstan
