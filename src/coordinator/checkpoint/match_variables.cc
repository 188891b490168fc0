#include "coordinator/checkpoint/match_variables.h"

#include <algorithm>
#include <map>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status.h"
#include "checkpoint/tensor_file/convert_floats.h"
#include "tensor/view.h"

namespace capstan {
namespace {

constexpr size_t kMostNamesListed = 5;

// Escaped, because they may come from an arbitrary file.
std::string ListEscaped(const std::vector<std::string>& names) {
  std::string text;
  for (size_t i = 0; i < std::min(names.size(), kMostNamesListed); ++i) {
    absl::StrAppend(&text, i == 0 ? "'" : ", '",
                    absl::Utf8SafeCHexEscape(names[i]), "'");
  }
  if (names.size() > kMostNamesListed) {
    absl::StrAppend(&text, " and ", names.size() - kMostNamesListed, " more");
  }
  return text;
}

bool IsWanted(const std::string& name, const MatchRules& rules) {
  if (rules.names != nullptr && !rules.names->contains(name)) return false;
  if (!name.starts_with(rules.prefix)) return false;
  return rules.only.empty() || std::any_of(rules.only.begin(), rules.only.end(),
                                           [&](const std::string& pattern) {
                                             return IsLike(name, pattern);
                                           });
}

bool Fits(const FileTensor& offered, const VariableSpec& spec,
          const MatchRules& rules) {
  if (offered.shape != spec.shape) return false;
  if (offered.dtype == spec.dtype) return true;
  return rules.convert_floats && IsFloat(offered.dtype) && IsFloat(spec.dtype);
}

// A mistyped pattern would silently restore nothing.
absl::Status CheckPatterns(const std::vector<FileTensor>& offered,
                           const ShardMap& map, const MatchRules& rules) {
  // Most patterns match none of a few given names.
  if (rules.names != nullptr) return absl::OkStatus();
  for (const std::string& pattern : rules.only) {
    const bool found =
        std::any_of(map.entries().begin(), map.entries().end(),
                    [&](const VariableEntry& entry) {
                      return IsLike(entry.spec.name, pattern);
                    }) ||
        std::any_of(offered.begin(), offered.end(), [&](const FileTensor& one) {
          return IsLike(one.name, pattern);
        });
    if (found) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "only: '", pattern,
        "' is like no variable of the job or "
        "of the ",
        absl::string_view(rules.source.data(), rules.source.size())));
  }
  return absl::OkStatus();
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

absl::StatusOr<VariableMatches> MatchVariables(
    const std::vector<FileTensor>& offered, const ShardMap& map,
    const MatchRules& rules) {
  CAPSTAN_RETURN_IF_ERROR(CheckPatterns(offered, map, rules));
  const absl::string_view source(rules.source.data(), rules.source.size());
  std::map<std::string_view, size_t> by_name;
  for (const FileTensor& one : offered) {
    by_name.emplace(one.name, by_name.size());
  }
  VariableMatches matches;
  RestoreReport& report = matches.report;
  std::vector<std::string> others;
  for (const VariableEntry& entry : map.entries()) {
    const VariableSpec& spec = entry.spec;
    if (!IsWanted(spec.name, rules)) continue;
    const auto found = by_name.find(spec.name);
    if (found == by_name.end()) {
      report.missing.push_back(spec.name);
      continue;
    }
    const FileTensor& one = offered[found->second];
    if (!one.unreadable.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("variable '", spec.name, "': ", one.unreadable));
    }
    if (!Fits(one, spec, rules)) {
      others.push_back(absl::StrCat(
          "'", spec.name, "' is ", Describe(one.dtype, one.shape), " in the ",
          source, " and ", Describe(spec.dtype, spec.shape), " in the job"));
      continue;
    }
    matches.pairs.push_back({&entry, found->second});
    report.restored.push_back(spec.name);
  }
  for (const auto& [name, number] : by_name) {
    if (IsWanted(offered[number].name, rules) && map.Find(name) == nullptr) {
      report.unexpected.emplace_back(name);
    }
  }
  std::sort(report.restored.begin(), report.restored.end());
  std::sort(report.missing.begin(), report.missing.end());
  if (!others.empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat("variables are not those of the ", source, ": ",
                     absl::StrJoin(others, "; ")));
  }
  if (!report.missing.empty() && !rules.allow_missing) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the ", source, " has no variable ", ListEscaped(report.missing),
        report.unexpected.empty()
            ? ""
            : absl::StrCat(" (but ", ListEscaped(report.unexpected), ")"),
        ": set allow_missing to leave them as they are"));
  }
  return matches;
}

}  // namespace capstan
