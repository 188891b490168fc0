// Reads the cluster file; the resolver is public, in capstan/resolver.h.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "capstan/resolver.h"

namespace capstan {

// Parses the text of a cluster file; `name` is the file's, for messages.
// InvalidArgument, with file and line. Pure; thread-safe.
absl::StatusOr<ResolvedCluster> ParseClusterFile(std::string_view text,
                                                 std::string_view name);

// See FileClusterResolver. Reads the machine's disk.
absl::StatusOr<ResolvedCluster> ReadClusterFile(
    const std::string& path, const Environment& environment,
    const ClusterOverrides& overrides);

}  // namespace capstan
