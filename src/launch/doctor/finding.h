// What `capstan doctor` says: one line for each thing that was looked at.
// Thread-safe: values and pure functions.
#pragma once

#include <string>
#include <vector>

namespace capstan {

enum class FindingLevel { kOk, kWarning, kProblem };

struct Finding {
  FindingLevel level = FindingLevel::kOk;
  std::string what = {};
  // What to do about it; empty if there is nothing to do, or `what`, an error's
  // message, says it.
  std::string remedy = {};

  friend bool operator==(const Finding&, const Finding&) = default;
};

using Findings = std::vector<Finding>;

// "warning  open files: 1024; run: ulimit -n 4096", without a line feed.
std::string ToLine(const Finding& finding);

// All of them for programs: {"findings": [{"level": "warning", "what": "...",
// "remedy": "..."}, ...], "problems": 0, "warnings": 1}, without a line feed. A
// level is "ok", "warning" or "problem".
std::string ToJson(const Findings& findings);

// How many of `findings` are of that level.
int Count(const Findings& findings, FindingLevel level);

// Puts `more` behind `findings`.
void Append(Findings more, Findings& findings);

}  // namespace capstan
