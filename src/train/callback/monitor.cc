#include "train/callback/monitor.h"

#include <cmath>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "capstan/error.h"
#include "train/callback/warn.h"

namespace capstan {
namespace {

std::string NotMeasured(const Logs& logs, const std::string& monitor) {
  return absl::StrCat(
      "it watches '", monitor, "', which is not measured; there is ",
      absl::StrJoin(logs, ", ", [](std::string* out, const auto& log) {
        absl::StrAppend(out, log.first);
      }));
}

}  // namespace

MonitorMode ResolveMode(MonitorMode mode, const std::string& monitor) {
  if (mode != MonitorMode::kAuto) return mode;
  for (const char* more : {"acc", "auc", "precision", "recall"}) {
    if (absl::StrContains(monitor, more)) return MonitorMode::kMax;
  }
  return MonitorMode::kMin;
}

bool IsBetter(MonitorMode resolved, double value, std::optional<double> than,
              double min_delta) {
  if (std::isnan(value)) return false;
  if (!than || std::isnan(*than)) return true;
  return resolved == MonitorMode::kMax ? value - std::abs(min_delta) > *than
                                       : value + std::abs(min_delta) < *than;
}

double MonitoredValue(const Logs& logs, const std::string& monitor) {
  const auto found = logs.find(monitor);
  if (found != logs.end()) return found->second;
  throw Error(ErrorCode::kNotFound, NotMeasured(logs, monitor));
}

std::optional<double> FindMonitored(const Callback& callback, const Logs& logs,
                                    const std::string& monitor, bool& found) {
  const bool said = std::exchange(found, true);
  const auto value = logs.find(monitor);
  if (value != logs.end()) return value->second;
  if (!said) {
    Warn(callback, absl::StrCat(NotMeasured(logs, monitor),
                                "; it does nothing until it is"));
  }
  return std::nullopt;
}

}  // namespace capstan
