// The evaluator: evaluates each checkpoint of a job once.
#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>
#include <set>
#include <span>
#include <thread>
#include <utility>

#include "base/error.h"
#include "base/open_folder.h"
#include "base/real_clock.h"
#include "capstan/checkpoint.h"
#include "capstan/trainer.h"
#include "metrics/event_file.h"
#include "train/json_text.h"
#include "train/monitor.h"
#include "train/this_process.h"

namespace capstan {
namespace {

using Steady = std::chrono::steady_clock;

constexpr uint64_t kMostLog = uint64_t{1} << 30;
constexpr char kLogName[] = "evaluations.jsonl";

// Not thread-safe.
class Evaluator {
 public:
  Evaluator(const EvaluatorTask& task, const Model& model,
            const DatasetHandle& data, const EvaluatorOptions& options);

  void Run();

 private:
  std::ostream& Warnings() const {
    return options_.evaluate.terminal.warnings != nullptr
               ? *options_.evaluate.terminal.warnings
               : std::cerr;
  }
  // What is in the log already, of an evaluator before this one.
  void ReadLog();
  // Those that are to be evaluated now, the oldest first.
  std::vector<std::string> Due() const;
  // False if it could not be read.
  bool EvaluateOne(const std::string& name);
  void Write(const std::string& name, const Logs& logs);
  // Keeps the best.
  void Judge(const std::string& name, const Logs& logs);
  // The directory may be made later than this task starts.
  bool OpenDirectory();

  const EvaluatorTask& task_;
  const DatasetHandle& data_;
  const EvaluatorOptions& options_;
  const std::string directory_;
  const std::string log_path_;
  ClusterCoordinator coordinator_;
  Trainer trainer_;
  std::unique_ptr<CheckpointManager> manager_;
  std::set<std::string> seen_;
  std::optional<double> best_;
  int done_ = 0;
  bool torn_line_ = false;  // the log ends in the middle of one
  const RealClock clock_;
  std::unique_ptr<FileSystem> event_folder_;
  std::unique_ptr<EventFile> events_;
};

TrainerOptions TrainerOptionsOf(const EvaluatorOptions& options) {
  TrainerOptions trainer;
  // Nothing is trained here, so that there need be no slots.
  trainer.optimizer = Sgd{};
  trainer.loss = options.loss;
  trainer.metrics = options.metrics;
  return trainer;
}

std::string DirectoryFor(const EvaluatorTask& task,
                         const EvaluatorOptions& options) {
  const std::string& directory =
      options.directory.empty() ? task.checkpoint_directory : options.directory;
  if (!directory.empty()) return directory;
  throw Error(ErrorCode::kInvalidArgument,
              "the evaluator does not know where the checkpoints are: set "
              "EvaluatorOptions::directory, or start the job with `capstan run "
              "--checkpoint-dir DIR`");
}

Evaluator::Evaluator(const EvaluatorTask& task, const Model& model,
                     const DatasetHandle& data, const EvaluatorOptions& options)
    : task_(task),
      data_(data),
      options_(options),
      directory_(DirectoryFor(task, options)),
      log_path_(options.json.empty() ? directory_ + "/" + kLogName
                                     : options.json),
      coordinator_(task.coordinator),
      trainer_(coordinator_, model, TrainerOptionsOf(options)) {}

bool Evaluator::OpenDirectory() {
  if (manager_ != nullptr) return true;
  try {
    CheckpointOptions read_only;
    read_only.read_only = true;
    manager_ = std::make_unique<CheckpointManager>(coordinator_, directory_,
                                                   read_only);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kNotFound) throw;
    return false;
  }
  ReadLog();
  return true;
}

void Evaluator::ReadLog() {
  const FileInFolder file = OpenFolderOf(log_path_, IfMissing::kCreate);
  if (!ValueOrThrow(file.folder->Exists(file.name))) return;
  const std::string text =
      ValueOrThrow(ReadFile(*file.folder, file.name, kMostLog));
  // One who was killed while he wrote has left a part of a line.
  torn_line_ = !text.empty() && text.back() != '\n';
  size_t begin = 0;
  for (size_t end = text.find('\n'); end != std::string::npos;
       begin = end + 1, end = text.find('\n', begin)) {
    const auto line =
        nlohmann::json::parse(text.substr(begin, end - begin), nullptr, false);
    if (!line.is_object()) continue;
    const auto name = line.find("checkpoint");
    if (name == line.end() || !name->is_string()) continue;
    seen_.insert(name->get<std::string>());
    const auto value = line.find(options_.monitor);
    if (value == line.end() || !value->is_number()) continue;
    const MonitorMode mode = ResolveMode(options_.mode, options_.monitor);
    if (!best_ || IsBetter(mode, value->get<double>(), *best_, 0)) {
      best_ = value->get<double>();
    }
  }
}

std::vector<std::string> Evaluator::Due() const {
  std::vector<std::string> names = manager_->checkpoints();
  std::erase_if(names,
                [&](const std::string& name) { return seen_.contains(name); });
  if (options_.newest_only && names.size() > 1) {
    names.erase(names.begin(), names.end() - 1);
  }
  return names;
}

bool Evaluator::EvaluateOne(const std::string& name) {
  seen_.insert(name);
  RestoreOptions restore;
  restore.name = name;
  // Of the variables of this model; the job may have others.
  restore.only = {trainer_.model().name() + "/*"};
  restore.slots = false;
  try {
    trainer_.RestoreCheckpoint(*manager_, restore);
  } catch (const Error& error) {
    // Removed as the newer ones came, or damaged.
    if (error.code() != ErrorCode::kNotFound &&
        error.code() != ErrorCode::kDataLoss) {
      throw;
    }
    Warnings() << fmt::format("warning: {} is not evaluated: {}\n", name,
                              error.what());
    return false;
  }
  const Logs logs = trainer_.Evaluate(data_, options_.evaluate);
  Write(name, logs);
  Judge(name, logs);
  ++done_;
  return true;
}

void Evaluator::Write(const std::string& name, const Logs& logs) {
  std::string line = fmt::format("{{\"checkpoint\": {}, \"iterations\": {}",
                                 JsonString(name), trainer_.iterations());
  for (const auto& [key, value] : logs) {
    line += fmt::format(", {}: {}", JsonString(key), JsonNumber(value));
  }
  line += "}\n";
  if (std::exchange(torn_line_, false)) line.insert(0, 1, '\n');
  const FileInFolder file = OpenFolderOf(log_path_, IfMissing::kCreate);
  const bool there = ValueOrThrow(file.folder->Exists(file.name));
  const std::unique_ptr<WritableFile> log =
      there ? ValueOrThrow(file.folder->OpenForAppend(file.name))
            : ValueOrThrow(
                  file.folder->CreateForWrite(file.name, IfExists::kFail));
  ThrowIfError(log->Append(std::as_bytes(std::span<const char>(line))));
  ThrowIfError(log->Sync());
  ThrowIfError(log->Close());
  if (options_.tensorboard.empty()) return;
  if (events_ == nullptr) {
    event_folder_ = OpenFolder(options_.tensorboard, IfMissing::kCreate);
    events_ = ValueOrThrow(
        EventFile::Create(*event_folder_, "evaluation", clock_, ThisProcess()));
  }
  for (const auto& [key, value] : logs) {
    ThrowIfError(
        events_->Scalar("evaluation_" + key, trainer_.iterations(), value));
  }
  ThrowIfError(events_->Flush());
}

void Evaluator::Judge(const std::string& name, const Logs& logs) {
  if (options_.export_best.empty()) return;
  const double value = MonitoredValue(logs, options_.monitor);
  const MonitorMode mode = ResolveMode(options_.mode, options_.monitor);
  if (best_ && !IsBetter(mode, value, *best_, 0)) return;
  best_ = value;
  manager_->Export(options_.export_best, name);
}

void Evaluator::Run() {
  Steady::time_point last = Steady::now();
  const auto enough = [&] {
    return options_.max_evaluations && done_ >= *options_.max_evaluations;
  };
  while (!enough()) {
    // Asked before looking: what was saved before the end is evaluated.
    const bool over = task_.over && task_.over();
    bool any = false;
    if (OpenDirectory()) {
      for (const std::string& name : Due()) {
        any = EvaluateOne(name) || any;
        if (enough()) return;
      }
    }
    if (any) {
      last = Steady::now();
      continue;
    }
    if (over) return;
    if (Steady::now() - last >= options_.hint_after) {
      last = Steady::now();
      Warnings() << fmt::format(
          "evaluator: no new checkpoint in '{}' for {} s; does Fit save there "
          "(FitOptions::checkpoint)?\n",
          directory_,
          std::chrono::duration<double>(options_.hint_after).count());
      Warnings().flush();
    }
    std::this_thread::sleep_for(options_.poll);
  }
}

}  // namespace

void RunEvaluator(const EvaluatorTask& task, const Model& model,
                  const DatasetHandle& data, const EvaluatorOptions& options) {
  Evaluator(task, model, data, options).Run();
}

void AddEvaluator(Definitions& program, const Model& model,
                  const DatasetHandle& data, const EvaluatorOptions& options) {
  program.SetEvaluator([model, data, options](const EvaluatorTask& task) {
    RunEvaluator(task, model, data, options);
  });
}

}  // namespace capstan
