// What differs between two checkpoints. Blocks; thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "base/file/file_system.h"
#include "checkpoint/manifest.h"

namespace capstan {

// A checkpoint that can be read. What is pointed to is the caller's.
struct DiffSide {
  const FileSystem* files = nullptr;
  std::string_view path;
  const Manifest* manifest = nullptr;
};

// A tensor that both have, with the same dtype and shape.
struct TensorDiff {
  std::string name;  // "w", or "w.momentum"
  uint64_t elements = 0;
  uint64_t different = 0;  // that have other bits
  // The largest |a - b|; NaN if one of those that differ is NaN.
  double largest = 0;
};

struct CheckpointDiff {
  std::vector<std::string> only_first;
  std::vector<std::string> only_second;
  std::vector<std::string> other_types;  // "w: f32[2] and f64[3]"
  std::vector<TensorDiff> tensors;

  bool empty() const;
};

// Compares the variables, and with `slots` the slots, each read once and
// verified, however they are cut; no more than a piece of each is in memory.
// DataLoss, naming the file and the tensor.
absl::StatusOr<CheckpointDiff> DiffCheckpoints(const DiffSide& first,
                                               const DiffSide& second,
                                               bool slots);

}  // namespace capstan
