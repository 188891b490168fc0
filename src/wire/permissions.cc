#include "wire/permissions.h"

#include <string>

#include "absl/strings/str_cat.h"

namespace capstan {
namespace {

struct RoleBit {
  std::string_view name;
  Callers bit;
};

constexpr std::array kRoleBits = {
    RoleBit{"chief", kCallerChief},
    RoleBit{"worker", kCallerWorker},
    RoleBit{"ps", kCallerPs},
    RoleBit{"admin", kCallerAdmin},
    RoleBit{"evaluator", kCallerEvaluator},
};

constexpr bool HasEachMethodOnce() {
  for (size_t i = 0; i < kMethodPermissions.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      if (kMethodPermissions[i].method == kMethodPermissions[j].method) {
        return false;
      }
    }
  }
  return true;
}
static_assert(HasEachMethodOnce(), "the second entry would never be looked at");

// 0 for an unknown role.
uint8_t BitOf(std::string_view role) {
  for (const RoleBit& known : kRoleBits) {
    if (known.name == role) return known.bit;
  }
  return 0;
}

// "chief, admin".
std::string Names(Callers callers) {
  std::string names;
  for (const RoleBit& role : kRoleBits) {
    if ((callers & role.bit) == 0) continue;
    absl::StrAppend(&names, names.empty() ? "" : ", ", std::string(role.name));
  }
  return names;
}

}  // namespace

absl::Status CheckPermission(Method method, std::string_view role,
                             std::string_view self_role) {
  const std::string caller(role);
  const std::string self(self_role);
  for (const MethodPermission& known : kMethodPermissions) {
    if (known.method != method) continue;
    if ((known.callers & BitOf(role)) != 0) return absl::OkStatus();
    return absl::PermissionDeniedError(absl::StrCat(
        "role '", caller, "' may not call ", std::string(known.name), " of a ",
        self, "; only ", Names(known.callers), " may"));
  }
  return absl::PermissionDeniedError(absl::StrCat(
      "role '", caller, "' may not call method ", static_cast<unsigned>(method),
      " of a ", self, ", which nobody may"));
}

}  // namespace capstan
