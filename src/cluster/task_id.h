// Roles and tasks from texts, without exceptions. The types are public, in
// capstan/cluster_spec.h.
// Pure functions; thread-safe.
#pragma once

#include <array>
#include <string_view>

#include "absl/status/statusor.h"
#include "capstan/cluster_spec.h"

namespace capstan {

// In the order in which they are listed to users.
inline constexpr std::array<Role, 4> kRoles = {Role::kChief, Role::kWorker,
                                               Role::kPs, Role::kEvaluator};
inline constexpr std::array<std::string_view, 4> kRoleNames = {
    "chief", "worker", "ps", "evaluator"};

// The role of that name: of a task, or of a job in a cluster. InvalidArgument,
// listing the names there are and the likely one, for any other text. Only
// "chief" is the coordinator: TensorFlow's ParameterServerStrategy knows no
// "master" either, and the message says so.
absl::StatusOr<Role> ParseRole(std::string_view name);
absl::StatusOr<Role> ParseJobName(std::string_view name);

// The task of a text such as "worker/3". InvalidArgument for any other text.
absl::StatusOr<TaskId> ParseTaskId(std::string_view text);

}  // namespace capstan
