#include "launch/doctor/check_token.h"

#include <optional>

#include "launch/security/job_token.h"

namespace capstan {

Findings CheckTokenFile(const std::string& file, bool tls) {
  if (file.empty()) return {};
  const absl::StatusOr<std::optional<JobToken>> token =
      ReadTokenOption(file, tls);
  if (!token.ok()) {
    return {{FindingLevel::kProblem,
             "token: " + std::string(token.status().message()), ""}};
  }
  return {{FindingLevel::kOk, "token: '" + file + "' holds one", ""}};
}

}  // namespace capstan
