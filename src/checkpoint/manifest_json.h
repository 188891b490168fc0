// The two halves of DecodeManifest behind the checksum, apart so that each can
// be tested and fuzzed alone. Pure functions; thread-safe.
#pragma once

#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "checkpoint/manifest.h"

namespace capstan {

// The first key of a manifest, and its value.
inline constexpr std::string_view kManifestFormatKey = "format";
inline constexpr std::string_view kManifestFormat = "capstan-checkpoint";
// The last key: the checksum of all before it.
inline constexpr std::string_view kManifestCrcKey = "crc32c";

// What the JSON says, every key there just once and none that is not known;
// whether it fits together is for CheckManifest. DataLoss that says where, if
// it is not such JSON; InvalidArgument for a version that this program does not
// know. Takes no more memory than a few times the text.
absl::StatusOr<Manifest> ParseManifestJson(std::string_view json);

// OK if all of it fits together, as DecodeManifest promises. InvalidArgument
// that names what does not.
absl::Status CheckManifest(const Manifest& manifest);

}  // namespace capstan
