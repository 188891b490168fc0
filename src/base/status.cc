#include "base/status.h"

#include <optional>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "base/cat.h"

namespace capstan {
namespace {

constexpr char kTaskUrl[] = "capstan/task";

}  // namespace

absl::Status WithTask(absl::Status status, std::string_view task) {
  if (status.ok() || task.empty()) return status;
  if (status.GetPayload(kTaskUrl).has_value()) return status;
  status.SetPayload(kTaskUrl, absl::Cord(ToAbsl(task)));
  return status;
}

std::string TaskOf(const absl::Status& status) {
  absl::optional<absl::Cord> payload = status.GetPayload(kTaskUrl);
  return payload.has_value() ? std::string(*payload) : std::string();
}

absl::Status WithContext(const absl::Status& status, std::string_view context) {
  if (status.ok()) return status;
  absl::Status result(status.code(),
                      absl::StrCat(ToAbsl(context), ": ", status.message()));
  status.ForEachPayload(
      [&result](absl::string_view url, const absl::Cord& payload) {
        result.SetPayload(url, payload);
      });
  return result;
}

std::string Describe(const absl::Status& status) {
  if (status.ok()) return "OK";
  std::string task = TaskOf(status);
  std::string_view code = CodeName(status.code());
  return absl::StrCat(task, task.empty() ? "" : ": ", status.message(), " (",
                      ToAbsl(code), ")");
}

std::string_view CodeName(absl::StatusCode code) {
  switch (code) {
    case absl::StatusCode::kOk:
      return "OK";
    case absl::StatusCode::kCancelled:
      return "Cancelled";
    case absl::StatusCode::kUnknown:
      return "Unknown";
    case absl::StatusCode::kInvalidArgument:
      return "InvalidArgument";
    case absl::StatusCode::kDeadlineExceeded:
      return "DeadlineExceeded";
    case absl::StatusCode::kNotFound:
      return "NotFound";
    case absl::StatusCode::kAlreadyExists:
      return "AlreadyExists";
    case absl::StatusCode::kPermissionDenied:
      return "PermissionDenied";
    case absl::StatusCode::kResourceExhausted:
      return "ResourceExhausted";
    case absl::StatusCode::kFailedPrecondition:
      return "FailedPrecondition";
    case absl::StatusCode::kAborted:
      return "Aborted";
    case absl::StatusCode::kOutOfRange:
      return "OutOfRange";
    case absl::StatusCode::kUnimplemented:
      return "Unimplemented";
    case absl::StatusCode::kInternal:
      return "Internal";
    case absl::StatusCode::kUnavailable:
      return "Unavailable";
    case absl::StatusCode::kDataLoss:
      return "DataLoss";
    case absl::StatusCode::kUnauthenticated:
      return "Unauthenticated";
    default:
      return "Unknown";
  }
}

}  // namespace capstan
