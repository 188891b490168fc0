// Finds the cluster; public as DetectCluster, in capstan/resolver.h.
#pragma once

#include "absl/status/statusor.h"
#include "capstan/resolver.h"

namespace capstan {

// See DetectCluster. Reads the disk if a file describes the cluster.
absl::StatusOr<ResolvedCluster> Detect(const DetectOptions& options);

}  // namespace capstan
