// Which updates a shard has had: all up to a watermark, and a set above it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"

namespace capstan {

// Not thread-safe.
class AppliedSteps {
 public:
  // More updates than this above the watermark are refused: a coordinator that
  // does not move it must be found out before the memory is gone.
  static constexpr size_t kMost = size_t{1} << 20;

  // Whether the update was applied. Steps up to `watermark` were.
  bool Contains(uint64_t step, uint32_t push, uint64_t watermark) const {
    return step <= watermark || above_.contains(std::pair(step, push));
  }

  // OK if there is room for one more; else ResourceExhausted.
  absl::Status CheckRoom(uint64_t watermark);

  void Add(uint64_t step, uint32_t push, uint64_t watermark);

  size_t size() const { return above_.size(); }

 private:
  void Purge(uint64_t watermark);

  absl::flat_hash_set<std::pair<uint64_t, uint32_t>> above_;
  // Looking for what the watermark has overtaken costs a pass; so only when the
  // set has doubled since the last.
  size_t purge_at_ = 1024;
};

}  // namespace capstan
