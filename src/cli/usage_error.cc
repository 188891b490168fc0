#include "cli/usage_error.h"

#include <fmt/core.h>

#include <string_view>
#include <vector>

#include "cli/nearest_word.h"

namespace capstan {
namespace {

// The command that the user chose, or the program itself; sets `name` to its
// full name.
const CLI::App& Chosen(const CLI::App& app, std::string& name) {
  const CLI::App* chosen = &app;
  name = app.get_name();
  while (!chosen->get_subcommands().empty()) {
    chosen = chosen->get_subcommands().front();
    name += " " + chosen->get_name();
  }
  return *chosen;
}

std::vector<std::string> Commands(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command :
       app.get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(command->get_name());
  }
  return names;
}

std::vector<std::string> FlagNames(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) {
      names.push_back("--" + name);
    }
  }
  return names;
}

std::string Unknown(std::string_view kind, const std::string& word,
                    const std::string& nearest) {
  std::string text = fmt::format("unknown {} '{}'", kind, word);
  if (!nearest.empty()) text += fmt::format("; did you mean '{}'?", nearest);
  return text;
}

// Describes `word`, the first that was not recognised.
std::string DescribeUnknown(const CLI::App& app, const std::string& word) {
  if (word.size() > 1 && word.front() == '-') {
    const std::string flag = word.substr(0, word.find('='));
    // All one-letter flags are equally near.
    const bool is_letter = flag.size() == 2;
    return Unknown("flag", flag,
                   is_letter ? "" : NearestWord(flag, FlagNames(app)));
  }
  const std::vector<std::string> commands = Commands(app);
  if (commands.empty()) return fmt::format("unexpected '{}'", word);
  return Unknown("command", word, NearestWord(word, commands));
}

std::string Joined(const std::vector<std::string>& words) {
  std::string joined;
  for (const std::string& word : words) {
    joined += (joined.empty() ? "" : ", ") + word;
  }
  return joined;
}

}  // namespace

std::string DescribeUsageError(const CLI::App& app,
                               const CLI::ParseError& error) {
  std::string name;
  const CLI::App& chosen = Chosen(app, name);
  std::vector<std::string> unknown = chosen.remaining();
  // The parser passes words that a command does not know to its parents.
  if (unknown.empty()) unknown = app.remaining();
  std::string text = error.what();
  // A command may report errors of its own.
  const bool is_unknown =
      dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr ||
      &chosen == &app;
  if (is_unknown && !unknown.empty() && unknown.front() != "--") {
    text = DescribeUnknown(chosen, unknown.front());
  } else if (&chosen == &app && !Commands(app).empty()) {
    text = "a command is missing: " + Joined(Commands(app));
  }
  return fmt::format("{} (see {} --help)", text, name);
}

}  // namespace capstan
