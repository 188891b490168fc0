#include <utility>

#include "absl/strings/str_cat.h"
#include "variable/name.h"
#include "variable/shard_map.h"

namespace capstan {

absl::StatusOr<ShardMap> SetLearningRate(const ShardMap& map,
                                         std::span<const std::string> names,
                                         const LearningRate& rate) {
  std::vector<VariableEntry> entries(map.entries().begin(),
                                     map.entries().end());
  for (const std::string& name : names) {
    const VariableEntry* found = map.Find(name);
    if (found == nullptr) {
      return absl::NotFoundError(
          absl::StrCat(CalledName(name), ": there is none"));
    }
    std::optional<Optimizer>& optimizer =
        entries[static_cast<size_t>(found - map.entries().data())]
            .spec.optimizer;
    if (!optimizer) {
      return absl::FailedPreconditionError(absl::StrCat(
          CalledName(name), " has no optimizer, and so no learning rate"));
    }
    std::visit([&](auto& rule) { rule.learning_rate = rate; }, optimizer->rule);
  }
  return map.Next(std::move(entries));
}

}  // namespace capstan
