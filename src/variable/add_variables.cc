#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "variable/name.h"
#include "variable/partition.h"
#include "variable/place_entries.h"
#include "variable/shard_map.h"
#include "variable/validate.h"

namespace capstan {
namespace {

// Sorts the specs by name, after checking that each is valid and that no name
// is taken.
absl::Status SortSpecs(const ShardMap& map, std::vector<VariableSpec>& specs) {
  for (const VariableSpec& spec : specs) {
    CAPSTAN_RETURN_IF_ERROR(ValidateSpec(spec));
    if (map.Find(spec.name) != nullptr) {
      return absl::AlreadyExistsError(absl::StrCat(
          CalledName(spec.name), ": there is one of that name already"));
    }
  }
  std::sort(specs.begin(), specs.end(),
            [](const VariableSpec& a, const VariableSpec& b) {
              return a.name < b.name;
            });
  for (size_t i = 1; i < specs.size(); ++i) {
    if (specs[i].name == specs[i - 1].name) {
      return absl::InvalidArgumentError(absl::StrCat(
          CalledName(specs[i].name), ": two are to be made of that name"));
    }
  }
  return absl::OkStatus();
}

// Entries with new ids, split into shards that have no server yet.
absl::StatusOr<std::vector<VariableEntry>> Cut(const ShardMap& map,
                                               std::vector<VariableSpec> specs,
                                               const Partitioner& partitioner) {
  std::vector<VariableEntry> entries(specs.size());
  for (size_t i = 0; i < specs.size(); ++i) {
    const auto shards = CountShards(specs[i], partitioner);
    if (!shards.ok()) return shards.status();
    for (const RowRange& range :
         SplitRows(specs[i].shape.num_rows(), *shards)) {
      entries[i].shards.push_back({.begin = range.begin, .end = range.end});
    }
    entries[i].id = map.next_id() + static_cast<uint32_t>(i);
    entries[i].spec = std::move(specs[i]);
  }
  return entries;
}

}  // namespace

absl::StatusOr<ShardMap> AddVariables(const ShardMap& map,
                                      std::vector<VariableSpec> specs,
                                      const Partitioner& partitioner) {
  if (map.servers() == 0) {
    return absl::FailedPreconditionError(
        "there is no parameter server to put variables on");
  }
  CAPSTAN_RETURN_IF_ERROR(SortSpecs(map, specs));
  if (specs.size() > UINT32_MAX - map.next_id()) {
    return absl::ResourceExhaustedError(
        "the job has used up the 2^32 ids of variables; start it anew from "
        "a checkpoint");
  }
  absl::StatusOr<std::vector<VariableEntry>> added =
      Cut(map, std::move(specs), partitioner);
  if (!added.ok()) return added.status();
  added = PlaceEntries(map, *std::move(added));
  if (!added.ok()) return added.status();
  std::vector<VariableEntry> entries(map.entries().begin(),
                                     map.entries().end());
  std::move(added->begin(), added->end(), std::back_inserter(entries));
  return map.Next(std::move(entries));
}

}  // namespace capstan
