#include "cli/program_arguments.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <utility>

#include "cli/usage_error.h"

namespace capstan {
namespace {

class Formatter final : public CLI::Formatter {
 public:
  explicit Formatter(std::string usage) : usage_(std::move(usage)) {}

 private:
  std::string make_usage(const CLI::App* /*app*/,
                         std::string /*name*/) const override {
    return usage_ + "\n";
  }

  const std::string usage_;
};

}  // namespace

void TakeProgram(CLI::App& command, std::string& program, std::string usage) {
  command.formatter(std::make_shared<Formatter>(std::move(usage)));
  command.add_option("PROGRAM", program, "What to run")->required();
  command.prefix_command();
}

std::vector<std::string> ProgramArguments(const CLI::App& command,
                                          const std::string& program) {
  std::vector<std::string> rest = command.remaining();
  if (!rest.empty()) {
    if (std::find(rest.begin(), rest.end(), "--") == rest.end()) {
      throw CLI::ParseError(
          fmt::format("unknown '{}': put -- before PROGRAM and its arguments",
                      rest.front()),
          kUsageExitCode);
    }
    if (rest.front() != "--") throw CLI::ExtrasError(rest);
    rest.erase(rest.begin());
  }
  rest.insert(rest.begin(), program);
  return rest;
}

std::string SearchPath() {
  const char* path = std::getenv("PATH");
  return path == nullptr ? "/usr/local/bin:/usr/bin:/bin" : path;
}

std::string AbsolutePath(const std::string& path) {
  return path.empty() ? "" : std::filesystem::absolute(path).string();
}

}  // namespace capstan
