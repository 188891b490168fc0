// Parses roles and tasks, without exceptions. The types are public, in
// capstan/cluster_spec.h.
// Pure functions; thread-safe.
#pragma once

#include <array>
#include <string_view>

#include "absl/status/statusor.h"
#include "capstan/cluster_spec.h"

namespace capstan {

// In the order shown to users.
inline constexpr std::array<Role, 4> kRoles = {Role::kChief, Role::kWorker,
                                               Role::kPs, Role::kEvaluator};
inline constexpr std::array<std::string_view, 4> kRoleNames = {
    "chief", "worker", "ps", "evaluator"};

// The role named `name`: of a task, or of a job in a cluster. InvalidArgument
// for any other text, listing the valid names and suggesting the likely one.
// Only "chief" is the coordinator: TensorFlow's ParameterServerStrategy does
// not accept "master" either, and the message says so.
absl::StatusOr<Role> ParseRole(std::string_view name);
absl::StatusOr<Role> ParseJobName(std::string_view name);

// The task named by text such as "worker/3". InvalidArgument for any other
// text.
absl::StatusOr<TaskId> ParseTaskId(std::string_view text);

}  // namespace capstan
