// Parsing the protobuf bodies of this folder.
#pragma once

#include <string_view>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace capstan {

// Parses `body` into `message`. InvalidArgument, naming `what` the body should
// be.
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
