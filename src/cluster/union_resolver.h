// Merges cluster specs; the resolver is public, in capstan/resolver.h.
// Thread-safe: a pure function.
#pragma once

#include <span>

#include "absl/status/statusor.h"
#include "capstan/cluster_spec.h"

namespace capstan {

// See UnionClusterResolver.
absl::StatusOr<ClusterSpec> MergeSpecs(std::span<const ClusterSpec> specs);

}  // namespace capstan
