// Reads a pod's variables; the resolver is public, in capstan/resolver.h.
// Thread-safe: pure functions.
#pragma once

#include "absl/status/statusor.h"
#include "capstan/resolver.h"

namespace capstan {

// Whether this process is in a pod whose environment describes a cluster.
bool IsKubernetesCluster(const Environment& environment);

// See KubernetesClusterResolver.
absl::StatusOr<ResolvedCluster> ReadKubernetes(
    const Environment& environment, const KubernetesOptions& options);

}  // namespace capstan
