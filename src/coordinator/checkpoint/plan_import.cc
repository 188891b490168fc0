#include "coordinator/checkpoint/plan_import.h"

#include <utility>

#include "base/status.h"
#include "coordinator/checkpoint/match_variables.h"

namespace capstan {
namespace {

// Adds the shards of a variable that is stored in a single tensor.
void PlanVariable(const std::string& tensor, const VariableEntry& entry,
                  RestorePlan& plan) {
  for (uint32_t i = 0; i < entry.shards.size(); ++i) {
    const ShardPlace& place = entry.shards[i];
    StageShard shard;
    shard.key = {.variable = entry.id, .shard = i};
    plan.commits[place.server].push_back(shard);
    if (place.begin == place.end) continue;
    RestoreCopy copy;
    copy.server = place.server;
    copy.copy.tensor = tensor;
    copy.copy.key = shard.key;
    copy.copy.source_row = static_cast<uint64_t>(place.begin);
    copy.copy.rows = static_cast<uint64_t>(place.end - place.begin);
    copy.row_bytes = entry.row_bytes();
    plan.copies.push_back(std::move(copy));
  }
}

}  // namespace

absl::StatusOr<ImportPlan> PlanImport(const std::vector<FileTensor>& tensors,
                                      const ShardMap& map,
                                      const ImportOptions& options,
                                      const std::set<std::string>* names) {
  std::vector<FileTensor> offered = tensors;
  for (FileTensor& one : offered) one.name.insert(0, options.prefix);
  absl::StatusOr<VariableMatches> matches =
      MatchVariables(offered, map,
                     {.source = "file",
                      .only = options.only,
                      .prefix = options.prefix,
                      .names = names,
                      .allow_missing = options.allow_missing,
                      .convert_floats = true});
  CAPSTAN_RETURN_IF_ERROR(matches.status());
  ImportPlan plan;
  plan.restore.report = std::move(matches->report);
  plan.restore.commits.resize(map.servers());
  for (const VariableMatch& match : matches->pairs) {
    const FileTensor& tensor = tensors[match.offered];
    const DType wanted = match.entry->spec.dtype;
    if (tensor.dtype != wanted) {
      plan.conversions[tensor.name] = {.from = tensor.dtype, .to = wanted};
    }
    PlanVariable(tensor.name, *match.entry, plan.restore);
  }
  SortCommits(plan.restore);
  return plan;
}

}  // namespace capstan
