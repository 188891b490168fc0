// The variables of the exact_digits workload, and what an update does to them:
//
//   dense   a vector, updated as a whole
//   rows    a table of two equal columns, updated by rows
//   drift   numbers that are not exact, so that the order of a sum shows in
//           the last bit; in synchronous rounds only
//
// Each is cut into one shard per server. The first two may be padded to make
// them large; a shard then has its digits at both ends, so that half an update
// shows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "client/parameter_client.h"
#include "simulate/digits/digit_code.h"
#include "simulate/digits/digit_options.h"
#include "variable/shard_map.h"

namespace capstan::simulate {

enum class DigitVariable { kDense, kRows };
inline constexpr size_t kDigitVariables = 2;
inline constexpr size_t kRowColumns = 2;

// Where a shard holds its digits.
struct DigitLayout {
  size_t digits = 0;   // elements, or rows, that hold digits
  size_t padding = 0;  // and those that hold nothing
  size_t copies() const { return padding == 0 ? 1 : 2; }
  size_t size() const { return copies() * digits + padding; }
  size_t At(size_t copy, size_t element) const {
    return copy == 0 ? element : digits + padding + element;
  }
};

// The values that were read, and their versions.
struct DigitValues {
  std::vector<float> dense;
  std::vector<float> rows;
  std::vector<float> drift;
  ShardVersions dense_have;
  ShardVersions rows_have;
};

// An update, in memory.
struct DigitGradient {
  std::vector<float> dense;
  std::vector<int64_t> ids;
  std::vector<float> rows;
  std::vector<float> drift;
};

// Immutable; thread-safe.
class DigitVariables {
 public:
  DigitVariables(const DigitOptions& options, uint64_t seed);

  // The first shard map of the job: generation 1, version 1.
  const ShardMap& map() const { return map_; }
  uint32_t dense_id() const { return dense_id_; }
  uint32_t rows_id() const { return rows_id_; }
  uint32_t drift_id() const { return drift_id_; }
  bool has_drift() const { return has_drift_; }
  // Shards of each variable.
  size_t shards() const { return shards_; }
  size_t drift_elements() const;

  // Whether updates of the variable wait for their round.
  bool IsSync(DigitVariable variable) const;

  DigitValues NewValues() const;
  DigitGradient Gradient(size_t slot) const;
  // For `drift` only.
  std::vector<float> DriftGradient(size_t slot) const;
  // Decodes shard `shard` of a variable.
  Decoded Decode(DigitVariable variable, std::span<const float> values,
                 size_t shard) const;
  static Optimizer DriftOptimizer();

 private:
  const DigitMode mode_;
  const uint64_t seed_;
  const size_t shards_;
  const DigitLayout dense_;
  const DigitLayout rows_;
  const bool has_drift_;
  ShardMap map_;
  uint32_t dense_id_ = 0;
  uint32_t rows_id_ = 0;
  uint32_t drift_id_ = 0;
};

}  // namespace capstan::simulate
