// The evaluator: evaluates each checkpoint of a job once.
#include <fmt/format.h>

#include <iostream>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/async/real_clock.h"
#include "base/error.h"
#include "base/file/open_folder.h"
#include "capstan/checkpoint.h"
#include "capstan/trainer.h"
#include "telemetry/event_file.h"
#include "train/callback/monitor.h"
#include "train/callback/this_process.h"
#include "train/evaluator/checkpoint_watch.h"
#include "train/evaluator/evaluation_log.h"

namespace capstan {
namespace {

using Steady = std::chrono::steady_clock;

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
  // The checkpoints to evaluate now, oldest first.
  std::vector<FoundCheckpoint> Due();
  // Returns false if the checkpoint could not be read.
  bool EvaluateOne(const FoundCheckpoint& found);
  // Keeps the best checkpoint. Returns false if `found` is the best but no
  // longer exists.
  bool Judge(const FoundCheckpoint& found, const Logs& logs);
  void WriteEvents(const Logs& logs);
  // The directory may be created after this task starts.
  bool OpenDirectory();

  const EvaluatorTask& task_;
  const DatasetHandle& data_;
  const EvaluatorOptions& options_;
  const std::string directory_;
  const std::string log_path_;
  ClusterCoordinator coordinator_;
  Trainer trainer_;
  std::unique_ptr<CheckpointManager> manager_;
  // Both are null until the directory exists.
  std::unique_ptr<CheckpointWatch> watch_;
  std::unique_ptr<EvaluationLog> log_;
  std::set<std::string> unreadable_;  // keys
  int done_ = 0;
  const RealClock clock_;
  std::unique_ptr<FileSystem> event_folder_;
  std::unique_ptr<EventFile> events_;
};

TrainerOptions TrainerOptionsOf(const EvaluatorOptions& options) {
  TrainerOptions trainer;
  // Nothing is trained here, so use an optimizer without slots.
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
    watch_ = std::make_unique<CheckpointWatch>(directory_);
    manager_ = std::make_unique<CheckpointManager>(coordinator_, directory_,
                                                   read_only);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kNotFound) throw;
    return false;
  }
  log_ = std::make_unique<EvaluationLog>(log_path_, options_.monitor,
                                         options_.mode);
  return true;
}

std::vector<FoundCheckpoint> Evaluator::Due() {
  std::vector<FoundCheckpoint> due = watch_->Look();
  // Do this before erasing evaluated checkpoints: otherwise one older than the
  // last evaluated would be chosen, and the steps would go backwards.
  if (options_.newest_only && due.size() > 1) {
    due.erase(due.begin(), due.end() - 1);
  }
  std::erase_if(due, [&](const FoundCheckpoint& found) {
    return log_->Has(found) || unreadable_.contains(found.key());
  });
  return due;
}

bool Evaluator::EvaluateOne(const FoundCheckpoint& found) {
  RestoreOptions restore;
  restore.name = found.name;
  // Only this model's variables; the job may have others.
  restore.only = {trainer_.model().name() + "/*"};
  restore.slots = false;
  try {
    trainer_.RestoreCheckpoint(*manager_, restore);
  } catch (const Error& error) {
    // Removed in favour of newer ones, or damaged.
    if (error.code() != ErrorCode::kNotFound &&
        error.code() != ErrorCode::kDataLoss) {
      throw;
    }
    unreadable_.insert(found.key());
    Warnings() << fmt::format("warning: {} is not evaluated: {}\n", found.name,
                              error.what());
    return false;
  }
  // What was restored is then not what was found. The new one is evaluated
  // after the next Look.
  if (watch_->IsReplaced(found)) return true;
  const Logs logs = trainer_.Evaluate(data_, options_.evaluate);
  // Export first, then log: an evaluator killed before the log line repeats
  // everything, and one killed after it has exported already.
  const bool kept = Judge(found, logs);
  log_->Add(found, trainer_.iterations(), logs, !kept);
  WriteEvents(logs);
  ++done_;
  return true;
}

void Evaluator::WriteEvents(const Logs& logs) {
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

bool Evaluator::Judge(const FoundCheckpoint& found, const Logs& logs) {
  if (options_.export_best.empty()) return true;
  const double value = MonitoredValue(logs, options_.monitor);
  if (!log_->IsBest(value)) return true;
  try {
    // Otherwise the exported file would be that of another checkpoint.
    if (watch_->IsReplaced(found)) {
      throw Error(ErrorCode::kNotFound, "another one has its name now");
    }
    manager_->Export(options_.export_best, found.name);
  } catch (const Error& error) {
    // The checkpoint may have been removed during the evaluation.
    if (error.code() != ErrorCode::kNotFound &&
        error.code() != ErrorCode::kDataLoss) {
      throw;
    }
    Warnings() << fmt::format(
        "warning: {} is the best so far, but is not exported: {}\n", found.name,
        error.what());
    return false;
  }
  return true;
}

void Evaluator::Run() {
  Steady::time_point last = Steady::now();
  const auto enough = [&] {
    return options_.max_evaluations && done_ >= *options_.max_evaluations;
  };
  while (!enough()) {
    // Check before looking, so that everything saved before the end is
    // evaluated.
    const bool over = task_.over && task_.over();
    bool any = false;
    if (OpenDirectory()) {
      for (const FoundCheckpoint& found : Due()) {
        any = EvaluateOne(found) || any;
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
