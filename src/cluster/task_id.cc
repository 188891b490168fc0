#include "cluster/task_id.h"

#include <optional>
#include <string>

#include "base/error.h"
#include "cluster/text.h"

namespace capstan {
namespace {

// A hint for an unknown role: our name for what other systems call `name`, or
// the nearest valid name.
std::string Translation(std::string_view name) {
  if (name == "master" || name == "coordinator") {
    return fmt::format("; the {} is called \"chief\" here", name);
  }
  if (name == "server" || name == "parameter_server") {
    return "; a parameter server is called \"ps\" here";
  }
  return DidYouMean(name, kRoleNames);
}

std::optional<Role> FindRole(std::string_view name) {
  for (const Role role : kRoles) {
    if (RoleName(role) == name) return role;
  }
  return std::nullopt;
}

}  // namespace

std::string_view RoleName(Role role) noexcept {
  const auto number = static_cast<size_t>(role);
  return number < kRoleNames.size() ? kRoleNames[number] : "invalid";
}

absl::StatusOr<Role> ParseRole(std::string_view name) {
  const std::optional<Role> role = FindRole(name);
  if (role.has_value()) return *role;
  return Invalid("unrecognized task type {}: the types are {}{}", Quoted(name),
                 Joined(kRoleNames), Translation(name));
}

absl::StatusOr<Role> ParseJobName(std::string_view name) {
  const std::optional<Role> role = FindRole(name);
  if (role.has_value()) return *role;
  return Invalid("disallowed task type {} in the cluster: the types are {}{}",
                 Quoted(name), Joined(kRoleNames), Translation(name));
}

absl::StatusOr<TaskId> ParseTaskId(std::string_view text) {
  const size_t slash = text.find('/');
  if (slash == std::string_view::npos) {
    return Invalid("{} is not a task; write its type and index, as worker/0",
                   Quoted(text));
  }
  const absl::StatusOr<Role> role = ParseRole(text.substr(0, slash));
  if (!role.ok()) return role.status();
  const std::optional<int> index =
      ParseWhole(text.substr(slash + 1), 0, TaskId::kMaxIndex);
  if (!index.has_value()) {
    return Invalid("{} is not a task: {} is not an index from 0 to {}",
                   Quoted(text), Quoted(text.substr(slash + 1)),
                   TaskId::kMaxIndex);
  }
  return TaskId{*role, *index};
}

TaskId TaskId::Parse(std::string_view text) {
  return ValueOrThrow(ParseTaskId(text));
}

std::string TaskId::ToString() const {
  return fmt::format("{}/{}", RoleName(role), index);
}

}  // namespace capstan
