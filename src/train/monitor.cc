#include "train/monitor.h"

#include <cmath>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "capstan/error.h"

namespace capstan {

MonitorMode ResolveMode(MonitorMode mode, const std::string& monitor) {
  if (mode != MonitorMode::kAuto) return mode;
  for (const char* more : {"acc", "auc", "precision", "recall"}) {
    if (absl::StrContains(monitor, more)) return MonitorMode::kMax;
  }
  return MonitorMode::kMin;
}

bool IsBetter(MonitorMode resolved, double value, double than,
              double min_delta) {
  return resolved == MonitorMode::kMax ? value - std::abs(min_delta) > than
                                       : value + std::abs(min_delta) < than;
}

double MonitoredValue(const Logs& logs, const std::string& monitor) {
  const auto found = logs.find(monitor);
  if (found != logs.end()) return found->second;
  throw Error(
      ErrorCode::kNotFound,
      absl::StrCat(
          "it watches '", monitor, "', which is not measured; there ", "is ",
          absl::StrJoin(logs, ", ", [](std::string* out, const auto& log) {
            absl::StrAppend(out, log.first);
          })));
}

}  // namespace capstan
