// Checkpoints for people to read. Pure functions; thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "checkpoint/diff.h"
#include "checkpoint/directory.h"

namespace capstan {

// A table: name, iterations and epochs of the training, when it was made, size,
// variables, servers.
std::string CheckpointsTable(const std::vector<Checkpoint>& checkpoints);

// All that the manifest says, but for checksums: variables with their shards,
// and records, of which long ones are cut.
std::string CheckpointText(const Checkpoint& checkpoint);

// "469 iterations".
std::string IterationsText(const Manifest& manifest);

// What differs; "no difference" if nothing does.
std::string DiffText(const CheckpointDiff& diff);

// "2026-11-16 14:30:23"; "-" for a time that has no date.
std::string UtcText(int64_t unix_ms);

// "1.5 MB".
std::string SizeText(uint64_t bytes);

// Of its files.
uint64_t TotalBytes(const Manifest& manifest);

}  // namespace capstan
