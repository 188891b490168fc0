#include "coordinator/plan_restore.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "optimizer/updater.h"
#include "optimizer/validate.h"
#include "tensor/dtype.h"
#include "tensor/view.h"

namespace capstan {
namespace {

constexpr size_t kMostListed = 5;

std::string List(const std::vector<std::string>& names) {
  std::string text;
  for (size_t i = 0; i < std::min(names.size(), kMostListed); ++i) {
    absl::StrAppend(&text, i == 0 ? "'" : ", '", names[i], "'");
  }
  if (names.size() > kMostListed) {
    absl::StrAppend(&text, " and ", names.size() - kMostListed, " more");
  }
  return text;
}

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

const SavedVariable* FindSaved(const Manifest& manifest,
                               const std::string& name) {
  const auto found = std::lower_bound(
      manifest.variables.begin(), manifest.variables.end(), name,
      [](const SavedVariable& saved, const std::string& wanted) {
        return saved.name < wanted;
      });
  if (found == manifest.variables.end() || found->name != name) return nullptr;
  return &*found;
}

size_t FileOf(const Manifest& manifest, const std::string& name) {
  size_t i = 0;
  while (manifest.files[i].name != name) ++i;
  return i;
}

// Adds what one variable needs.
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
      // An update may concern some of the shards; the newest knows most.
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

bool IsLike(std::string_view name, std::string_view pattern) {
  const size_t star = pattern.find('*');
  if (star == std::string_view::npos) return name == pattern;
  if (name.substr(0, star) != pattern.substr(0, star)) return false;
  name.remove_prefix(star);
  pattern.remove_prefix(star + 1);
  for (size_t skipped = 0; skipped <= name.size(); ++skipped) {
    if (IsLike(name.substr(skipped), pattern)) return true;
  }
  return false;
}

absl::StatusOr<RestorePlan> PlanRestore(const Manifest& manifest,
                                        const ShardMap& map,
                                        const RestoreOptions& options,
                                        const std::set<std::string>* names) {
  RestorePlan plan;
  plan.commits.resize(map.servers());
  plan.report.step = manifest.step;
  plan.report.records = manifest.records;
  const auto wanted = [&](const std::string& name) {
    if (names != nullptr && !names->contains(name)) return false;
    return options.only.empty() ||
           std::any_of(options.only.begin(), options.only.end(),
                       [&](const std::string& pattern) {
                         return IsLike(name, pattern);
                       });
  };
  std::vector<std::string> others;
  for (const VariableEntry& entry : map.entries()) {
    const std::string& name = entry.spec.name;
    if (!wanted(name)) continue;
    const SavedVariable* saved = FindSaved(manifest, name);
    if (saved == nullptr) {
      plan.report.missing.push_back(name);
      continue;
    }
    if (saved->dtype != entry.spec.dtype || saved->shape != entry.spec.shape) {
      others.push_back(absl::StrCat(
          "'", name, "' is ", Describe(saved->dtype, saved->shape),
          " in the checkpoint and ",
          Describe(entry.spec.dtype, entry.spec.shape), " in the job"));
      continue;
    }
    const std::vector<std::string> slots = SlotsOf(entry.spec);
    const bool same_rule =
        entry.spec.optimizer
            ? saved->optimizer == RuleName(*entry.spec.optimizer)
            : saved->optimizer.empty();
    const bool with_slots = options.slots && same_rule && slots == saved->slots;
    if (options.slots && !with_slots) {
      plan.report.without_slots.push_back(name);
    }
    PlanVariable(manifest, *saved, entry, with_slots, plan);
    plan.report.restored.push_back(name);
  }
  for (const SavedVariable& saved : manifest.variables) {
    if (wanted(saved.name) && map.Find(saved.name) == nullptr) {
      plan.report.unexpected.push_back(saved.name);
    }
  }
  std::sort(plan.report.restored.begin(), plan.report.restored.end());
  std::sort(plan.report.missing.begin(), plan.report.missing.end());
  std::sort(plan.report.without_slots.begin(), plan.report.without_slots.end());
  if (!others.empty()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "variables are not what they were: ", absl::StrJoin(others, "; ")));
  }
  if (!plan.report.missing.empty() && !options.allow_missing) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the checkpoint has no variable ", List(plan.report.missing),
        plan.report.unexpected.empty()
            ? ""
            : absl::StrCat(" (but ", List(plan.report.unexpected), ")"),
        ": set allow_missing to leave them as they are"));
  }
  std::stable_sort(plan.copies.begin(), plan.copies.end(),
                   [](const RestoreCopy& a, const RestoreCopy& b) {
                     return a.file < b.file;
                   });
  for (std::vector<StageShard>& shards : plan.commits) {
    std::sort(
        shards.begin(), shards.end(),
        [](const StageShard& a, const StageShard& b) { return a.key < b.key; });
  }
  return plan;
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
