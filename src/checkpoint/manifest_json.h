// The two halves of DecodeManifest that follow the checksum, separate so that
// each can be tested and fuzzed alone. Pure functions; thread-safe.
#pragma once

#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "checkpoint/manifest.h"

namespace capstan {

// The first key of a manifest and its value.
inline constexpr std::string_view kManifestFormatKey = "format";
inline constexpr std::string_view kManifestFormat = "capstan-checkpoint";
// The last key: the checksum of everything before it.
inline constexpr std::string_view kManifestCrcKey = "crc32c";

// Parses the JSON, which must have every key exactly once and no unknown ones;
// CheckManifest checks whether the content is consistent. DataLoss that says
// where, if it is not such JSON; InvalidArgument for a version that this
// program does not know. Takes at most a few times the memory of the text.
absl::StatusOr<Manifest> ParseManifestJson(std::string_view json);

// OK if the content is consistent, as DecodeManifest promises. Otherwise
// InvalidArgument, naming what is not.
absl::Status CheckManifest(const Manifest& manifest);

}  // namespace capstan
