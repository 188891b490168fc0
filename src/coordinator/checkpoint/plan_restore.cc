#include "coordinator/checkpoint/plan_restore.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "coordinator/checkpoint/match_variables.h"
#include "optimizer/updater.h"
#include "optimizer/validate.h"
#include "tensor/dtype.h"

namespace capstan {
namespace {

std::vector<std::string> SlotsOf(const VariableSpec& spec) {
  std::vector<std::string> slots;
  if (!spec.optimizer) return slots;
  const auto updater = Updater::Make(*spec.optimizer);
  if (!updater.ok()) return slots;
  for (const SlotInfo& slot : (*updater)->slots()) {
    slots.emplace_back(slot.name);
  }
  return slots;
}

size_t FileOf(const Manifest& manifest, const std::string& name) {
  size_t i = 0;
  while (manifest.files[i].name != name) ++i;
  return i;
}

// Adds the copies and commits for one variable.
void PlanVariable(const Manifest& manifest, const SavedVariable& saved,
                  const VariableEntry& entry, bool slots, RestorePlan& plan) {
  const uint64_t row_bytes = entry.row_bytes();
  const uint64_t slot_row_bytes =
      row_bytes / SizeOf(saved.dtype) * sizeof(float);
  for (uint32_t i = 0; i < entry.shards.size(); ++i) {
    const ShardPlace& place = entry.shards[i];
    StageShard shard;
    shard.key = {.variable = entry.id, .shard = i};
    shard.slots = slots;
    for (const SavedShard& source : saved.shards) {
      const int64_t begin = std::max(place.begin, source.begin);
      const int64_t end = std::min(place.end, source.end);
      const bool empty = place.begin == place.end && place == entry.shards[0];
      if (begin >= end && !empty) continue;
      // An update may concern only some shards; the one with most updates knows
      // most.
      if (slots && source.updates >= shard.updates) {
        shard.updates = source.updates;
        shard.momentum_product = source.momentum_product;
      }
      if (begin >= end) continue;
      const size_t tensors = 1 + (slots ? saved.slots.size() : 0);
      for (uint32_t slot = 0; slot < tensors; ++slot) {
        RestoreCopy copy;
        copy.file = FileOf(manifest, source.file);
        copy.server = place.server;
        copy.copy.tensor = ShardTensorName(
            saved.name, source.begin, source.end,
            slot == 0 ? std::string_view() : saved.slots[slot - 1]);
        copy.copy.key = shard.key;
        copy.copy.slot = slot;
        copy.copy.source_row = static_cast<uint64_t>(begin - source.begin);
        copy.copy.rows = static_cast<uint64_t>(end - begin);
        copy.copy.target_row = static_cast<uint64_t>(begin - place.begin);
        copy.row_bytes = slot == 0 ? row_bytes : slot_row_bytes;
        plan.copies.push_back(std::move(copy));
      }
    }
    plan.commits[place.server].push_back(shard);
  }
}

}  // namespace

absl::StatusOr<RestorePlan> PlanRestore(const Manifest& manifest,
                                        const ShardMap& map,
                                        const RestoreOptions& options,
                                        const std::set<std::string>* names) {
  std::vector<FileTensor> offered;
  for (const SavedVariable& saved : manifest.variables) {
    offered.push_back({saved.name, saved.dtype, saved.shape});
  }
  absl::StatusOr<VariableMatches> matches =
      MatchVariables(offered, map,
                     {.source = "checkpoint",
                      .only = options.only,
                      .names = names,
                      .allow_missing = options.allow_missing});
  CAPSTAN_RETURN_IF_ERROR(matches.status());
  RestorePlan plan;
  plan.report = std::move(matches->report);
  plan.report.step = manifest.step;
  plan.report.records = manifest.records;
  plan.commits.resize(map.servers());
  for (const VariableMatch& match : matches->pairs) {
    const VariableSpec& spec = match.entry->spec;
    const SavedVariable& saved = manifest.variables[match.offered];
    const bool same_rule = spec.optimizer
                               ? saved.optimizer == RuleName(*spec.optimizer)
                               : saved.optimizer.empty();
    const bool with_slots =
        options.slots && same_rule && SlotsOf(spec) == saved.slots;
    if (options.slots && !with_slots) {
      plan.report.without_slots.push_back(spec.name);
    }
    PlanVariable(manifest, saved, *match.entry, with_slots, plan);
  }
  std::sort(plan.report.without_slots.begin(), plan.report.without_slots.end());
  std::stable_sort(plan.copies.begin(), plan.copies.end(),
                   [](const RestoreCopy& a, const RestoreCopy& b) {
                     return a.file < b.file;
                   });
  SortCommits(plan);
  return plan;
}

void SortCommits(RestorePlan& plan) {
  for (std::vector<StageShard>& shards : plan.commits) {
    std::sort(
        shards.begin(), shards.end(),
        [](const StageShard& a, const StageShard& b) { return a.key < b.key; });
  }
}

std::string ServerFileName(size_t server) {
  return absl::StrCat("server-", server, ".safetensors");
}

absl::StatusOr<std::vector<SavedVariable>> SavedVariablesOf(
    const ShardMap& map, const std::vector<SnapshotReply>& snapshot) {
  std::vector<SavedVariable> variables;
  for (const VariableEntry& entry : map.entries()) {
    SavedVariable saved;
    saved.name = entry.spec.name;
    saved.dtype = entry.spec.dtype;
    saved.shape = entry.spec.shape;
    saved.trainable = entry.spec.trainable;
    if (entry.spec.optimizer) {
      saved.optimizer = std::string(RuleName(*entry.spec.optimizer));
    }
    saved.slots = SlotsOf(entry.spec);
    for (uint32_t i = 0; i < entry.shards.size(); ++i) {
      const ShardPlace& place = entry.shards[i];
      const std::vector<SnapshotShard>& there = snapshot[place.server].shards;
      const ShardKey key = {.variable = entry.id, .shard = i};
      const auto found = std::find_if(
          there.begin(), there.end(),
          [&](const SnapshotShard& shard) { return shard.key == key; });
      // It has no values yet.
      if (found == there.end()) continue;
      SavedShard shard;
      shard.begin = place.begin;
      shard.end = place.end;
      shard.file = ServerFileName(place.server);
      shard.version = found->version;
      shard.updates = found->updates;
      shard.momentum_product = found->momentum_product;
      saved.shards.push_back(std::move(shard));
    }
    if (saved.shards.empty()) continue;
    if (saved.shards.size() != entry.shards.size()) {
      return absl::FailedPreconditionError(
          absl::StrCat("variable '", saved.name, "' has values in ",
                       saved.shards.size(), " of its ", entry.shards.size(),
                       " shards: assign all of it before it is saved"));
    }
    variables.push_back(std::move(saved));
  }
  std::sort(variables.begin(), variables.end(),
            [](const SavedVariable& a, const SavedVariable& b) {
              return a.name < b.name;
            });
  return variables;
}

}  // namespace capstan
