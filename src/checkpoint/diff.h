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

// An open checkpoint. The caller owns what is pointed to.
struct DiffSide {
  const FileSystem* files = nullptr;
  std::string_view path;
  const Manifest* manifest = nullptr;
};

// A tensor in both checkpoints, with the same dtype and shape.
struct TensorDiff {
  std::string name;  // "w", or "w.momentum"
  uint64_t elements = 0;
  uint64_t different = 0;  // elements whose bits differ
  // The largest |a - b|; NaN if a differing element is NaN.
  double largest = 0;
};

struct CheckpointDiff {
  std::vector<std::string> only_first;
  std::vector<std::string> only_second;
  std::vector<std::string> other_types;  // "w: f32[2] and f64[3]"
  std::vector<TensorDiff> tensors;

  bool empty() const;
};

// Compares the variables and, with `slots`, the slots. Each is read once and
// verified, however it is cut into shards; only a piece of each is in memory at
// a time. DataLoss, naming the file and the tensor.
absl::StatusOr<CheckpointDiff> DiffCheckpoints(const DiffSide& first,
                                               const DiffSide& second,
                                               bool slots);

}  // namespace capstan
