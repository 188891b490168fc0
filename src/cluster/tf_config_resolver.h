// Reads TF_CONFIG; the resolver is public, in capstan/resolver.h.
// Thread-safe: a pure function.
#pragma once

#include "absl/status/statusor.h"
#include "capstan/resolver.h"

namespace capstan {

// See TFConfigClusterResolver. The spec is not yet checked: it may be partial.
absl::StatusOr<ResolvedCluster> ReadTfConfig(const Environment& environment,
                                             const ClusterOverrides& overrides);

}  // namespace capstan
