// Where the elements of named tensors come from, piece by piece: a file of a
// checkpoint, or a file that another program has written.
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
  // Why its elements cannot be read, if Capstan does not support their type;
  // dtype and shape mean nothing then.
  std::string unreadable = {};
};

// Thread-safe.
class TensorSource {
 public:
  virtual ~TensorSource() = default;

  // Reads a whole tensor once, piece by piece in order, and passes each piece
  // to `take` with its offset; if `take` fails, reading stops. A piece consists
  // of whole elements and is at most a few MiB. Use the pieces only if the
  // result is OK: DataLoss may come at the end, where checksums are compared.
  // Errors name the file and the tensor.
  using Take = std::function<absl::Status(uint64_t offset, Bytes piece)>;
  virtual absl::Status Read(std::string_view tensor,
                            const Take& take) const = 0;
};

}  // namespace capstan
