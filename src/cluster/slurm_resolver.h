// Reads Slurm's variables; the resolver is public, in capstan/resolver.h.
// Thread-safe: pure functions.
#pragma once

#include "absl/status/statusor.h"
#include "capstan/resolver.h"

namespace capstan {

// Whether this process is in a step of more than one task. A step of one, such
// as an interactive shell, is not a cluster.
bool IsSlurmCluster(const Environment& environment);

// See SlurmClusterResolver.
absl::StatusOr<ResolvedCluster> ReadSlurm(const Environment& environment,
                                          const SlurmOptions& options);

}  // namespace capstan
