#include "launch/doctor/finding.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "absl/strings/ascii.h"

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

std::string ToJson(const Findings& findings) {
  using OrderedJson = nlohmann::ordered_json;
  OrderedJson list = OrderedJson::array();
  for (const Finding& finding : findings) {
    list.push_back(OrderedJson{
        {"level", absl::AsciiStrToLower(std::string(LevelName(finding.level)))},
        {"what", finding.what},
        {"remedy", finding.remedy}});
  }
  const OrderedJson all = {
      {"findings", std::move(list)},
      {"problems", Count(findings, FindingLevel::kProblem)},
      {"warnings", Count(findings, FindingLevel::kWarning)}};
  // Text from the system or a file may not be UTF-8.
  return all.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
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
