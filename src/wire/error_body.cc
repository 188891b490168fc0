#include "wire/error_body.h"

#include "base/status.h"
#include "wire/wire.pb.h"

namespace capstan {

std::string EncodeErrorBody(const absl::Status& status, size_t most) {
  wire::ErrorMessage error;
  error.set_message(std::string(status.message().substr(0, most)));
  error.set_task(TaskOf(status));
  return error.SerializeAsString();
}

absl::Status DecodeError(uint16_t code, std::string_view body) {
  if (code == 0) return absl::OkStatus();
  const auto status_code = static_cast<absl::StatusCode>(code);
  wire::ErrorMessage error;
  if (!error.ParseFromArray(body.data(), static_cast<int>(body.size()))) {
    return absl::Status(status_code, "an error whose text cannot be parsed");
  }
  return WithTask(absl::Status(status_code, error.message()), error.task());
}

}  // namespace capstan
