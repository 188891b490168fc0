#include "wire/program.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/hash.h"
#include "base/list_first.h"

namespace capstan {
namespace {

// The most definitions named in a message; the rest are counted.
constexpr size_t kMostNamed = 3;

// What is in `all` but not in `known`; both are sorted.
std::vector<std::string> Without(const std::vector<std::string>& all,
                                 const std::vector<std::string>& known) {
  std::vector<std::string> rest;
  std::set_difference(all.begin(), all.end(), known.begin(), known.end(),
                      std::back_inserter(rest));
  return rest;
}

}  // namespace

ProgramDefinitions DescribeDefinitions(
    const std::vector<FunctionInfo>& functions,
    const std::vector<ResourceInfo>& resources) {
  ProgramDefinitions lines;
  for (const FunctionInfo& function : functions) {
    lines.push_back(
        absl::StrCat("function '", function.name, "' ", function.signature,
                     function.options.reads_only ? " (reads_only)" : ""));
  }
  for (const ResourceInfo& resource : resources) {
    lines.push_back(
        absl::StrCat("resource '", resource.name, "' ", resource.type));
  }
  std::sort(lines.begin(), lines.end());
  return lines;
}

uint64_t ProgramFingerprint(const ProgramDefinitions& definitions) {
  Hasher hasher;
  for (const std::string& line : definitions) hasher.Add(line);
  return std::max<uint64_t>(hasher.Digest(), 1);
}

absl::Status CheckSameProgram(std::string_view task,
                              const ProgramDefinitions& of_job,
                              const ProgramDefinitions& of_task) {
  const std::vector<std::string> missing = Without(of_job, of_task);
  const std::vector<std::string> unknown = Without(of_task, of_job);
  if (missing.empty() && unknown.empty()) return absl::OkStatus();
  std::vector<std::string> differences;
  if (!missing.empty()) {
    differences.push_back(
        absl::StrCat("it does not define ", ListFirst(missing, kMostNamed)));
  }
  if (!unknown.empty()) {
    differences.push_back(absl::StrCat(
        "it defines ", ListFirst(unknown, kMostNamed), ", unknown to the job"));
  }
  return absl::FailedPreconditionError(absl::StrCat(
      std::string(task), " runs a different program from the job's: ",
      absl::StrJoin(differences, "; "), "; start it with the job's program"));
}

}  // namespace capstan
