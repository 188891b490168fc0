// Human-readable descriptions of checkpoints. Pure functions; thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "checkpoint/diff.h"
#include "checkpoint/directory.h"

namespace capstan {

// A table: name, iterations and epochs of the training, time of creation, size,
// variables, servers.
std::string CheckpointsTable(const std::vector<Checkpoint>& checkpoints);

// Everything in the manifest except checksums: variables with their shards, and
// records; long records are truncated.
std::string CheckpointText(const Checkpoint& checkpoint);

// "469 iterations".
std::string IterationsText(const Manifest& manifest);

// The differences; "no difference" if there are none.
std::string DiffText(const CheckpointDiff& diff);

// "2026-11-16 14:30:23"; "-" for a time that has no date.
std::string UtcText(int64_t unix_ms);

// "1.5 MB".
std::string SizeText(uint64_t bytes);

// The total size of the checkpoint's files.
uint64_t TotalBytes(const Manifest& manifest);

}  // namespace capstan
