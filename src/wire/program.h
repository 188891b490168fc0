// Whether two tasks run the same program: compares what each defines under
// which names, because functions and datasets are requested by name.
// Pure functions; thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "capstan/function.h"

namespace capstan {

// What a program defines, as returned by DescribeDefinitions.
using ProgramDefinitions = std::vector<std::string>;

// One line per definition, such as "function 'step' double(int)"; sorted.
ProgramDefinitions DescribeDefinitions(
    const std::vector<FunctionInfo>& functions,
    const std::vector<ResourceInfo>& resources);

// Equal for equal definitions, and never 0.
uint64_t ProgramFingerprint(const ProgramDefinitions& definitions);

// FailedPrecondition, naming the differences and how to fix them, unless the
// program of `task` defines the same as the job's.
absl::Status CheckSameProgram(std::string_view task,
                              const ProgramDefinitions& of_job,
                              const ProgramDefinitions& of_task);

}  // namespace capstan
