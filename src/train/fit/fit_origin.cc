// Where a Fit begins if the whole job was restarted: with a checkpoint of an
// earlier training.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "absl/strings/match.h"
#include "base/async/run_on.h"
#include "base/error.h"
#include "train/fit/fit_run.h"

namespace capstan {
namespace {

// The prefix of the keys of the trainers' records.
constexpr char kTrainers[] = "trainer/";

// Whether an earlier coordinator had started to train.
bool HadTrained(const std::map<std::string, std::string>& records) {
  return std::any_of(records.begin(), records.end(), [](const auto& record) {
    return absl::StartsWith(record.first, kTrainers) &&
           DecodeFitRecord(record.second).call > 0;
  });
}

// Marks the record, so that a coordinator that takes over meanwhile does not
// train on a partly restored model.
FitRecord Restoring(FitRecord record) {
  record.restoring = true;
  return record;
}

}  // namespace

FitOrigin& FitRun::FindOrigin() {
  const auto coordinator_impl = CoordinatorMaker::ImplOf(impl_.coordinator);
  FitOrigins& origins = coordinator_impl->origins;
  if (!origins.servers_had_trained) {
    origins.servers_had_trained =
        impl_.coordinator.attached() &&
        HadTrained(coordinator_impl->dispatcher.variables().records().parts());
  }
  const auto [place, is_new] =
      origins.by_directory.try_emplace(manager_->directory());
  FitOrigin& origin = place->second;
  if ((is_new && !*origins.servers_had_trained) ||
      (origin.name.empty() && impl_.was_restoring)) {
    origin.name = manager_->latest().value_or("");
  }
  return origin;
}

std::string FitRun::BeginWithCheckpoint() {
  if (manager_ == nullptr) return {};
  FitOrigin& origin = FindOrigin();
  if (origin.name.empty()) return {};
  FitOrigins& origins = CoordinatorMaker::ImplOf(impl_.coordinator)->origins;
  const bool all = !origins.begun && !*origins.servers_had_trained;
  if (all || !origin.restored.contains(impl_.IterationsName())) {
    RestoreOrigin(origin, all);
  }
  const std::string path =
      fmt::format("{}/{}", manager_->directory(), origin.name);
  // The model is not in the checkpoint.
  if (!origin.restored.contains(impl_.IterationsName())) return {};
  const auto found = origin.records.find(impl_.RecordKey());
  if (found == origin.records.end()) {
    throw Error(ErrorCode::kDataLoss,
                fmt::format("{} is no checkpoint of a training of the model "
                            "'{}'",
                            path, impl_.model.name()));
  }
  FitRecord record = DecodeFitRecord(found->second);
  impl_.AdoptRecord(record);
  impl_.PublishIterations();
  impl_.left = std::move(record);
  return path;
}

void FitRun::RestoreOrigin(FitOrigin& origin, bool all) {
  const std::vector<std::string> there = manager_->checkpoints();
  // The checkpoint was removed because other trainers have saved since: it
  // dates from before they finished, so this one had not started then.
  if (std::count(there.begin(), there.end(), origin.name) == 0) return;
  const auto coordinator_impl = CoordinatorMaker::ImplOf(impl_.coordinator);
  const std::string mine = impl_.model.name() + "/";
  impl_.Publish(Restoring(impl_.FirstRecord()));
  ThrowIfError(RunOn(coordinator_impl->executor,
                     coordinator_impl->dispatcher.Publish()));
  RestoreOptions options;
  // Keep what other trainers have trained since the program started.
  if (!all) {
    options.only = {mine + "*"};
    options.name = origin.name;
  }
  // All variables of the model must be in the checkpoint, but the program may
  // have new ones besides.
  options.allow_missing = true;
  RestoreReport report;
  for (int tries = 1; report.name.empty(); ++tries) {
    try {
      report = RestoreNewest(options);
    } catch (const Error&) {
      RecoverFromError(tries, false);
      // The values of the other trainers are lost too, so restore everything.
      options.only.clear();
      options.name.clear();
      all = true;
    }
  }
  const bool any = std::any_of(
      report.restored.begin(), report.restored.end(),
      [&](const std::string& name) { return absl::StartsWith(name, mine); });
  for (const std::string& name : report.missing) {
    if (!any || !absl::StartsWith(name, mine)) continue;
    throw Error(ErrorCode::kFailedPrecondition,
                fmt::format("{}/{} has no variable '{}': the model '{}' has "
                            "changed since; give Fit another directory",
                            manager_->directory(), report.name, name,
                            impl_.model.name()));
  }
  if (!report.without_slots.empty()) {
    Warnings() << fmt::format(
        "warning: the optimizer of '{}' and {} more is another than in {}/{}, "
        "and begins anew\n",
        report.without_slots.front(), report.without_slots.size() - 1,
        manager_->directory(), report.name);
  }
  AdoptRecords(report, all);
  origin.name = report.name;
  origin.records = std::move(report.records);
  origin.restored.insert(report.restored.begin(), report.restored.end());
}

void FitRun::AdoptRecords(const RestoreReport& report, bool all) {
  const std::set<std::string> restored(report.restored.begin(),
                                       report.restored.end());
  std::map<std::string, PartText> adopted;
  adopted.emplace(impl_.RecordKey(), FitRecordPart(impl_.FirstRecord()));
  for (const auto& [key, text] : report.records) {
    if (!absl::StartsWith(key, kTrainers)) continue;
    if (!all && key != impl_.RecordKey()) continue;
    // A model that the program has not created yet must be restored later.
    const std::string model = key.substr(std::strlen(kTrainers));
    adopted.insert_or_assign(
        key, FitRecordPart(restored.contains(model + "/iterations")
                               ? DecodeFitRecord(text)
                               : Restoring({})));
  }
  RecordKeeper& records = CoordinatorMaker::ImplOf(impl_.coordinator)
                              ->dispatcher.variables()
                              .records();
  ThrowIfError(records.CheckRoom(adopted));
  std::map<std::string, PartText> with_program = adopted;
  for (const auto& [key, text] : report.records) {
    if (all && !absl::StartsWith(key, kTrainers)) {
      with_program.emplace(key, PartText(text));
    }
  }
  const absl::Status room = records.CheckRoom(with_program);
  if (!room.ok()) {
    // A program may store more in a checkpoint than the servers accept.
    Warnings() << fmt::format(
        "warning: ClusterCoordinator::Record does not have what the program "
        "has kept in {}/{}: {}\n",
        manager_->directory(), report.name, ToError(room).message());
    Warnings().flush();
  }
  records.SetAll(room.ok() ? with_program : adopted);
}

}  // namespace capstan
