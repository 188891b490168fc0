#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "base/async/real_clock.h"
#include "base/error.h"
#include "cli/command.h"
#include "launch/security/make_certificates.h"
#include "launch/system/date_text.h"

namespace capstan {
namespace {

constexpr char kExamples[] =
    "Examples:\n"
    "  capstan certs tls --job ctr             a CA, and one certificate per "
    "role\n"
    "  capstan certs tls --job ctr --workers 4 --ps 2    and one per task\n"
    "  capstan certs tls --add --workers 8     more, from the same CA\n"
    "  capstan server --tls tls                use them\n"
    "Keep ca.key where it was made: whoever has it can be any task.";

// "chief, worker, ... (112 in all)" for a list that would fill the screen.
std::string Listed(const std::vector<std::string>& names) {
  constexpr size_t kMost = 8;
  std::string text;
  for (size_t i = 0; i < names.size() && i < kMost; ++i) {
    text += (i == 0 ? "" : ", ") + names[i];
  }
  if (names.size() > kMost) text += fmt::format(", ... ({})", names.size());
  return text;
}

int Run(const MakeCertificatesOptions& options) {
  const RealClock clock;
  MadeCertificates made = ValueOrThrow(MakeCertificates(options, clock));
  if (made.names.empty() && !made.token) {
    fmt::print("{}: all of them are there already\n", options.directory);
    return 0;
  }
  if (made.token) made.names.emplace_back("token");
  fmt::print("{}: made {}", options.directory, Listed(made.names));
  if (made.not_after != WallTime::max()) {
    fmt::print("; valid until {}", DateText(made.not_after));
  }
  fmt::print(
      "\ngive a machine ca.pem, the .pem and .key of its tasks and, for "
      "--token, "
      "token;\nkeep ca.key here\n");
  return 0;
}

}  // namespace

void AddCertsCommand(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand(
      "certs",
      "Make a CA, the certificates of a job's tasks and a token, for --tls");
  const auto options = std::make_shared<MakeCertificatesOptions>();
  command
      ->add_option("DIR", options->directory,
                   "Where to write them; created if it is not there")
      ->required();
  command->add_option("--job", options->job,
                      "The job's name, to be seen in the certificates");
  command
      ->add_option("--days", options->days,
                   "How long they are valid; the CA at least ten years")
      ->capture_default_str();
  command->add_option("--workers", options->workers,
                      "Also one for each of so many workers");
  command->add_option("--ps", options->ps,
                      "Also one for each of so many parameter servers");
  command->add_flag("--add", options->add,
                    "Issue what is missing from the CA in DIR");
  command->footer(kExamples);
  command->callback(
      [&action, options] { action = [options] { return Run(*options); }; });
}

}  // namespace capstan
