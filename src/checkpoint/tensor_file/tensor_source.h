// Where the elements of named tensors come from, piece by piece: a file of a
// checkpoint, or one that another program has written.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "base/bytes.h"
#include "capstan/tensor.h"

namespace capstan {

// A tensor of a file, without its elements.
struct FileTensor {
  std::string name;
  DType dtype = DType::kF32;
  Shape shape;
  // Why its elements cannot be read, if Capstan does not have their type; then
  // dtype and shape say nothing.
  std::string unreadable = {};
};

// Thread-safe.
class TensorSource {
 public:
  virtual ~TensorSource() = default;

  // Reads all of a tensor once, piece by piece in order, and gives each piece
  // to `take` with its offset; `take` may fail, which ends it. A piece is of
  // whole elements, and a few MiB at most. What was given is to be used only if
  // this is OK: DataLoss may come at the end, as that is where checksums are
  // compared. Errors name the file and the tensor.
  using Take = std::function<absl::Status(uint64_t offset, Bytes piece)>;
  virtual absl::Status Read(std::string_view tensor,
                            const Take& take) const = 0;
};

}  // namespace capstan
