#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "cli/checkpoint_actions.h"
#include "cli/command.h"

namespace capstan {
namespace {

constexpr char kWhich[] = "a checkpoint, or a directory of some: the newest";

void AddList(CLI::App& app, Action& action) {
  CLI::App* command =
      app.add_subcommand("ls", "List the checkpoints in a directory");
  const auto directories = std::make_shared<std::vector<std::string>>();
  command->add_option("DIR", *directories, "directories of checkpoints")
      ->required();
  command->footer(
      "ITERATIONS are the batches that were trained. EPOCHS are the complete "
      "epochs of\nFit; 2+31 is 2 epochs and 31 batches of the next.\n\n"
      "The exit code is 1 if one of them cannot be opened.\n\n"
      "Examples:\n  capstan checkpoint ls runs/a/checkpoints");
  command->callback([directories, &action] {
    action = [directories] { return ListAction(*directories); };
  });
}

void AddShow(CLI::App& app, Action& action) {
  CLI::App* command =
      app.add_subcommand("show", "Show what a checkpoint holds");
  const auto path = std::make_shared<std::string>();
  const auto json = std::make_shared<bool>(false);
  command->add_option("CKPT", *path, kWhich)->required();
  command->add_flag("--json", *json, "print its manifest");
  command->footer(
      "Examples:\n"
      "  capstan checkpoint show runs/a/checkpoints\n"
      "  capstan checkpoint show --json ckpt-12 | jq .step");
  command->callback([path, json, &action] {
    action = [path, json] { return ShowAction(*path, *json); };
  });
}

void AddVerify(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand(
      "verify", "Read all of a checkpoint and compare every checksum");
  const auto paths = std::make_shared<std::vector<std::string>>();
  const auto all = std::make_shared<bool>(false);
  command->add_option("CKPT", *paths, kWhich)->required();
  command->add_flag("--all", *all, "every checkpoint in the directories");
  command->footer(
      "Says which files and tensors are bad. The exit code is 1 if "
      "any is.\n\nExamples:\n"
      "  capstan checkpoint verify runs/a/checkpoints/ckpt-12\n"
      "  capstan checkpoint verify --all runs/a/checkpoints");
  command->callback([paths, all, &action] {
    action = [paths, all] { return VerifyAction(*paths, *all); };
  });
}

void AddDiff(CLI::App& app, Action& action) {
  CLI::App* command =
      app.add_subcommand("diff", "Say what differs between two checkpoints");
  const auto paths = std::make_shared<std::pair<std::string, std::string>>();
  const auto slots = std::make_shared<bool>(false);
  command->add_option("A", paths->first, kWhich)->required();
  command->add_option("B", paths->second, "another")->required();
  command->add_flag("--slots", *slots, "the optimizers' slots, too");
  command->footer(
      "Compares whole variables, however they are cut into shards. "
      "The exit code is 1\nif anything differs.\n\nExamples:\n"
      "  capstan checkpoint diff ckpt-11 ckpt-12\n"
      "  capstan checkpoint diff --slots runs/a/checkpoints "
      "runs/b/checkpoints");
  command->callback([paths, slots, &action] {
    action = [paths, slots] {
      return DiffAction(paths->first, paths->second, *slots);
    };
  });
}

std::string CheckSuffix(const std::string& file) {
  if (file.ends_with(".safetensors") || file.ends_with(".npz")) return "";
  return "must end with .safetensors or .npz, which says the format";
}

void AddExport(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand(
      "export", "Write the variables of a checkpoint into one file");
  const auto paths = std::make_shared<std::pair<std::string, std::string>>();
  const auto slots = std::make_shared<bool>(false);
  command->add_option("CKPT", paths->first, kWhich)->required();
  command->add_option("OUT", paths->second, "a .safetensors or .npz file")
      ->required()
      ->check(CheckSuffix);
  command->add_flag("--slots", *slots,
                    "the optimizers' slots too, as \"variable.slot\"");
  command->footer(
      "Needs little memory, however large the variables are.\n\n"
      "Examples:\n"
      "  capstan checkpoint export runs/a/checkpoints "
      "model.safetensors\n"
      "  capstan checkpoint export --slots ckpt-12 all.npz");
  command->callback([paths, slots, &action] {
    action = [paths, slots] {
      return ExportAction(paths->first, paths->second, *slots);
    };
  });
}

void AddPrune(CLI::App& app, Action& action) {
  CLI::App* command =
      app.add_subcommand("prune", "Remove old checkpoints from a directory");
  const auto flags = std::make_shared<PruneFlags>();
  command->add_option("DIR", flags->directory, "a directory of checkpoints")
      ->required();
  command->add_option("--keep", flags->keep, "how many of the newest stay")
      ->required()
      ->check(CLI::Range(1, 1'000'000));
  command
      ->add_option("--keep-every-hours", flags->keep_every_hours,
                   "of the others, one for each so many hours stays")
      ->check(CLI::Range(0.0, 1e6));
  command->add_flag("--dry-run", flags->dry_run, "only say what would be done");
  command->footer(
      "Those that stay are read whole first. One that is bad is left alone and "
      "does not\ncount: an older one stays in its place, and the exit code is "
      "1.\n\nExamples:\n"
      "  capstan checkpoint prune runs/a/checkpoints --keep 3 "
      "--dry-run\n"
      "  capstan checkpoint prune runs/a/checkpoints --keep 3 "
      "--keep-every-hours 6");
  command->callback(
      [flags, &action] { action = [flags] { return PruneAction(*flags); }; });
}

}  // namespace

void AddCheckpointCommand(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand(
      "checkpoint", "Look at checkpoints, verify, export and remove them");
  command->require_subcommand(1);
  AddList(*command, action);
  AddShow(*command, action);
  AddVerify(*command, action);
  AddDiff(*command, action);
  AddExport(*command, action);
  AddPrune(*command, action);
  command->footer(
      "Examples:\n"
      "  capstan checkpoint ls runs/a/checkpoints\n"
      "  capstan checkpoint verify runs/a/checkpoints\n"
      "  capstan checkpoint export runs/a/checkpoints "
      "model.safetensors\n"
      "  capstan checkpoint diff --help         all about one of "
      "them");
}

}  // namespace capstan
