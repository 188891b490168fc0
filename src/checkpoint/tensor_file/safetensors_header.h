// The header of a .safetensors file: which tensors it holds, and where.
// docs: https://github.com/huggingface/safetensors#format
//
//   u64, little-endian   N, the size of what follows
//   N bytes              {"__metadata__": {"key": "value"},
//                         "name": {"dtype": "F32", "shape": [2, 3],
//                                  "data_offsets": [0, 24]}} and spaces
//   the rest             the tensors' elements, without holes
//
// Offsets count from the end of the header. Pure functions; thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "capstan/tensor.h"

namespace capstan {

// The largest N allowed, which is the limit of the reference implementation.
inline constexpr uint64_t kMaxSafetensorsHeader = 100'000'000;

// The one key that is not a tensor's name.
inline constexpr std::string_view kSafetensorsMetadata = "__metadata__";

// Where a tensor is: the bytes [begin, end) after the header.
struct SafetensorsEntry {
  std::string name;
  DType dtype = DType::kF32;
  Shape shape;
  uint64_t begin = 0;
  uint64_t end = 0;
  std::string unreadable = {};  // as FileTensor::unreadable

  friend bool operator==(const SafetensorsEntry&,
                         const SafetensorsEntry&) = default;
};

struct SafetensorsHeader {
  std::map<std::string, std::string> metadata;
  std::vector<SafetensorsEntry> entries;  // in the order of their data
};

// The first bytes of a file: N and the JSON, padded with spaces so that the
// data begins at a multiple of 8. InvalidArgument, naming the tensor or the
// key, if a string is not UTF-8; ResourceExhausted if the header is larger than
// the limit.
absl::StatusOr<std::string> EncodeSafetensorsHeader(
    const SafetensorsHeader& header);

// Parses the JSON of a file and trusts nothing in it yet: returns the tensors
// in the order in which they are described, their positions unchecked.
// DataLoss, saying where, if it is not such JSON; InvalidArgument, naming the
// tensor, for a dtype that Capstan does not support, unless it is to be kept as
// unreadable, or a shape that is too large. Takes at most a few times the
// memory of the text.
enum class UnknownDTypes { kRefuse, kKeep };
absl::StatusOr<SafetensorsHeader> ParseSafetensorsJson(
    std::string_view json, UnknownDTypes unknown = UnknownDTypes::kRefuse);

// Sorts the entries by the order of their data. DataLoss, naming the tensor,
// unless each readable entry has the size of its dtype and shape and the
// entries fill [0, data_size) without gaps or overlaps.
absl::Status PlaceSafetensors(std::vector<SafetensorsEntry>& entries,
                              uint64_t data_size);

// "F32" for kF32, and so on.
std::string_view SafetensorsName(DType dtype);

}  // namespace capstan
