// JSON that a person wrote: parsed with errors that show the position.
// Pure functions; thread-safe.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "capstan/cluster_spec.h"

namespace capstan {

using Json = nlohmann::ordered_json;

// Parses `text`. InvalidArgument, with line, column and the surrounding text,
// if it is not JSON; also, naming the key, if an object repeats a key (other
// parsers silently take the last).
absl::StatusOr<Json> ParseJson(std::string_view text);

// A value as JSON, truncated if it is long. For messages.
std::string JsonText(const Json& value);

// Parses a "cluster" object: see ClusterSpec::FromJson. InvalidArgument, naming
// the position, such as cluster.worker[1], and what was found there.
absl::StatusOr<ClusterSpec> ReadClusterJson(const Json& cluster);

}  // namespace capstan
