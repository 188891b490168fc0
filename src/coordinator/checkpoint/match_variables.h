// Matches the variables of a job with the tensors of the same name in a
// checkpoint or another file. Pure; thread-safe.
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
  std::string_view source = {};        // what errors call it: "checkpoint"
  std::vector<std::string> only = {};  // as RestoreOptions::only
  std::string prefix = {};  // of those, only names that begin with it
  const std::set<std::string>* names = nullptr;  // if not null, only these
  bool allow_missing = false;
  bool convert_floats = false;  // one floating type may become another
};

struct VariableMatch {
  const VariableEntry* entry = nullptr;  // of the map
  size_t offered = 0;                    // index of the tensor
};

struct VariableMatches {
  std::vector<VariableMatch> pairs;  // in the order of the map
  RestoreReport report;              // `restored`, `missing`, `unexpected`
};

// Each name occurs once in `offered`. FailedPrecondition, naming the variables,
// if a variable is missing or has another shape or dtype; InvalidArgument for
// an unreadable tensor and, unless `names` are given, for a pattern that
// matches neither a variable nor a tensor.
absl::StatusOr<VariableMatches> MatchVariables(
    const std::vector<FileTensor>& offered, const ShardMap& map,
    const MatchRules& rules);

// Whether `name` matches `pattern`, in which * stands for any text.
bool IsLike(std::string_view name, std::string_view pattern);

}  // namespace capstan
