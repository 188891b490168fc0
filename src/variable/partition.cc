#include "variable/partition.h"

#include <algorithm>
#include <limits>
#include <string_view>
#include <variant>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "variable/name.h"

namespace capstan {
namespace {

int64_t DivideUp(int64_t a, int64_t b) { return a / b + (a % b != 0 ? 1 : 0); }

int64_t RowBytes(const Shape& shape, DType dtype) {
  return shape.row_elements() * static_cast<int64_t>(SizeOf(dtype));
}

void CheckAtLeastOne(const char* partitioner, const char* field,
                     int64_t value) {
  if (value >= 1) return;
  ThrowIfError(absl::InvalidArgumentError(absl::StrCat(
      partitioner, ": ", field, " is ", value, "; it must be at least 1")));
}

// Caps `shards` at one per row. One shard is always allowed, even for a
// variable without rows.
int64_t AtMostRows(int64_t shards, const Shape& shape) {
  return std::max<int64_t>(1, std::min(shards, shape.num_rows()));
}

}  // namespace

Partitioner FixedShards(int64_t num_shards) {
  CheckAtLeastOne("FixedShards", "num_shards", num_shards);
  return
      [=](const Shape& shape, DType) { return AtMostRows(num_shards, shape); };
}

Partitioner MinSize(int64_t min_shard_bytes, int64_t max_shards) {
  CheckAtLeastOne("MinSize", "min_shard_bytes", min_shard_bytes);
  CheckAtLeastOne("MinSize", "max_shards", max_shards);
  return [=](const Shape& shape, DType dtype) {
    const auto bytes = static_cast<int64_t>(ByteSize(dtype, shape));
    return AtMostRows(std::min(max_shards, DivideUp(bytes, min_shard_bytes)),
                      shape);
  };
}

Partitioner MaxSize(int64_t max_shard_bytes,
                    std::optional<int64_t> max_shards) {
  CheckAtLeastOne("MaxSize", "max_shard_bytes", max_shard_bytes);
  if (max_shards) CheckAtLeastOne("MaxSize", "max_shards", *max_shards);
  return [=](const Shape& shape, DType dtype) -> int64_t {
    const int64_t row_bytes = RowBytes(shape, dtype);
    if (row_bytes == 0) return 1;
    const int64_t rows_per_shard =
        std::max<int64_t>(1, max_shard_bytes / row_bytes);
    const int64_t shards = DivideUp(shape.num_rows(), rows_per_shard);
    return AtMostRows(
        std::min(shards,
                 max_shards.value_or(std::numeric_limits<int64_t>::max())),
        shape);
  };
}

std::vector<RowRange> SplitRows(int64_t rows, int64_t shards) {
  const int64_t base = rows / shards;
  const int64_t extra = rows % shards;
  std::vector<RowRange> ranges;
  ranges.reserve(static_cast<size_t>(shards));
  int64_t begin = 0;
  for (int64_t i = 0; i < shards; ++i) {
    const int64_t end = begin + base + (i < extra ? 1 : 0);
    ranges.push_back({begin, end});
    begin = end;
  }
  return ranges;
}

bool IsIndivisible(const VariableSpec& spec) {
  return spec.shape.rank() == 0 || !spec.colocate_with.empty() ||
         std::holds_alternative<Orthogonal>(spec.initializer);
}

absl::StatusOr<int64_t> CountShards(const VariableSpec& spec,
                                    const Partitioner& partitioner) {
  const auto refuse = [&](std::string_view why) {
    return absl::InvalidArgumentError(
        absl::StrCat(CalledName(spec.name), ": ", std::string(why)));
  };
  const int64_t rows = spec.shape.num_rows();
  int64_t shards = 1;
  if (!IsIndivisible(spec)) {
    if (!partitioner) return refuse("there is no partitioner to cut it");
    try {
      shards = partitioner(spec.shape, spec.dtype);
    } catch (...) {
      return refuse(absl::StrCat("its partitioner threw: ",
                                 Describe(StatusOfCurrentException())));
    }
    if (shards < 1) {
      return refuse(absl::StrCat("its partitioner answered ", shards,
                                 " shards; it must be at least 1"));
    }
    shards = AtMostRows(shards, spec.shape);
  }
  if (shards > kMaxShards) {
    return refuse(absl::StrCat("its partitioner answered ", shards,
                               " shards; the most is ", kMaxShards));
  }
  if (DivideUp(rows, shards) > kMaxShardRows) {
    return refuse(absl::StrCat(
        rows, " rows in ", shards, " shards, but a shard has at most ",
        kMaxShardRows, " rows; ",
        IsIndivisible(spec)
            ? "it can have only one shard as it is colocated, or orthogonal"
            : absl::StrCat("use a partitioner that makes at least ",
                           DivideUp(rows, kMaxShardRows), " shards")));
  }
  return shards;
}

}  // namespace capstan
