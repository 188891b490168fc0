// What `capstan doctor` prints: one line per thing checked.
// Thread-safe: values and pure functions.
#pragma once

#include <string>
#include <vector>

namespace capstan {

enum class FindingLevel { kOk, kWarning, kProblem };

struct Finding {
  FindingLevel level = FindingLevel::kOk;
  std::string what = {};
  // What to do about it; empty if there is nothing to do, or if `what` is an
  // error message that already says it.
  std::string remedy = {};

  friend bool operator==(const Finding&, const Finding&) = default;
};

using Findings = std::vector<Finding>;

// "warning  open files: 1024; run: ulimit -n 4096", without a line feed.
std::string ToLine(const Finding& finding);

// All findings, for programs: {"findings": [{"level": "warning", "what": "...",
// "remedy": "..."}, ...], "problems": 0, "warnings": 1}, without a line feed. A
// level is "ok", "warning" or "problem".
std::string ToJson(const Findings& findings);

// The number of `findings` of that level.
int Count(const Findings& findings, FindingLevel level);

// Appends `more` to `findings`.
void Append(Findings more, Findings& findings);

}  // namespace capstan
