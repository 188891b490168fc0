// Whether two tasks run the same program: what it defines under which names is
// compared, as a function or dataset is asked for by its name.
// Pure functions; thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "capstan/function.h"

namespace capstan {

// What a program defines, as DescribeDefinitions says.
using ProgramDefinitions = std::vector<std::string>;

// A line for each definition, such as "function 'step' double(int)"; sorted.
ProgramDefinitions DescribeDefinitions(
    const std::vector<FunctionInfo>& functions,
    const std::vector<ResourceInfo>& resources);

// Equal for equal definitions, and never 0.
uint64_t ProgramFingerprint(const ProgramDefinitions& definitions);

// FailedPrecondition, naming the differences and the way out, unless the
// program of `task` defines what the job's does.
absl::Status CheckSameProgram(std::string_view task,
                              const ProgramDefinitions& of_job,
                              const ProgramDefinitions& of_task);

}  // namespace capstan
