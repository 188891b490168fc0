// Which variables of a job get the values of what a checkpoint, or another
// file, has of the same names. Pure; thread-safe.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "capstan/checkpoint.h"
#include "checkpoint/tensor_file/tensor_source.h"
#include "variable/shard_map.h"

namespace capstan {

struct MatchRules {
  std::string_view source = {};        // as errors call it: "checkpoint"
  std::vector<std::string> only = {};  // as RestoreOptions::only
  std::string prefix = {};             // of those, the ones that begin so
  const std::set<std::string>* names = nullptr;  // of those, if not null
  bool allow_missing = false;
  bool convert_floats = false;  // a floating type may become another
};

struct VariableMatch {
  const VariableEntry* entry = nullptr;  // of the map
  size_t offered = 0;                    // which
};

struct VariableMatches {
  std::vector<VariableMatch> pairs;  // in the order of the map
  RestoreReport report;              // `restored`, `missing`, `unexpected`
};

// `offered` have each name once. FailedPrecondition, naming the variables, if
// one is missing or has another shape or dtype; InvalidArgument for one that is
// unreadable, and for a pattern that is like none of either, unless `names` are
// given.
absl::StatusOr<VariableMatches> MatchVariables(
    const std::vector<FileTensor>& offered, const ShardMap& map,
    const MatchRules& rules);

// Whether `name` is like `pattern`, in which * stands for any text.
bool IsLike(std::string_view name, std::string_view pattern);

}  // namespace capstan
