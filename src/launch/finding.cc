#include "launch/finding.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

namespace capstan {
namespace {

std::string_view LevelName(FindingLevel level) {
  switch (level) {
    case FindingLevel::kOk:
      return "ok";
    case FindingLevel::kWarning:
      return "warning";
    case FindingLevel::kProblem:
      return "PROBLEM";
  }
  return "invalid";
}

}  // namespace

std::string ToLine(const Finding& finding) {
  return fmt::format("{:<8} {}{}{}", LevelName(finding.level), finding.what,
                     finding.remedy.empty() ? "" : "; ", finding.remedy);
}

int Count(const Findings& findings, FindingLevel level) {
  return static_cast<int>(
      std::count_if(findings.begin(), findings.end(),
                    [level](const Finding& f) { return f.level == level; }));
}

void Append(Findings more, Findings& findings) {
  std::move(more.begin(), more.end(), std::back_inserter(findings));
}

}  // namespace capstan
