// How the bodies of this folder are read.
#pragma once

#include <string_view>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace capstan {

// Reads `body` into `message`. InvalidArgument, naming `what` it should be.
template <typename Message>
absl::Status ParseMessage(std::string_view body, const char* what,
                          Message& message) {
  if (message.ParseFromArray(body.data(), static_cast<int>(body.size()))) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat(what, " that cannot be parsed"));
}

}  // namespace capstan
