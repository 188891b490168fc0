#include "base/refusal.h"

#include "absl/strings/cord.h"

namespace capstan {
namespace {

constexpr char kRefusalUrl[] = "capstan/refusal";

}  // namespace

absl::Status Refusal(std::string_view message) {
  absl::Status status =
      absl::UnavailableError(absl::string_view(message.data(), message.size()));
  status.SetPayload(kRefusalUrl, absl::Cord());
  return status;
}

bool IsRefusal(const absl::Status& status) {
  return status.GetPayload(kRefusalUrl).has_value();
}

}  // namespace capstan
