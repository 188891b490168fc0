// JSON that a person wrote: parsed with errors that show the place.
// Pure functions; thread-safe.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "capstan/cluster_spec.h"

namespace capstan {

using Json = nlohmann::ordered_json;

// The value of `text`. InvalidArgument, with line, column and the text around
// it, if it is not JSON; and, naming the key, if an object has a key twice (of
// which other parsers silently take the last).
absl::StatusOr<Json> ParseJson(std::string_view text);

// A value as it is written in JSON, cut if it is long. For messages.
std::string JsonText(const Json& value);

// The jobs of a "cluster" object: see ClusterSpec::FromJson. InvalidArgument,
// naming the place, such as cluster.worker[1], and what was found there.
absl::StatusOr<ClusterSpec> ReadClusterJson(const Json& cluster);

}  // namespace capstan
