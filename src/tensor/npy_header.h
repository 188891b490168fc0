// The header of a .npy file (numpy.lib.format): "\x93NUMPY", two bytes of
// version, the length of a Python dict, and that:
//
//   {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }
//
// The elements follow. Thread-safe: pure functions.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/status.h"
#include "capstan/tensor.h"

namespace capstan {

// So many bytes of a file say how long its header is.
inline constexpr size_t kNpyStart = 12;
// No header is longer: more than NumPy writes for any plain array.
inline constexpr size_t kMaxNpyHeader = kNpyStart + (size_t{64} << 10);

struct NpyHeader {
  DType dtype = DType::kF32;
  Shape shape;
  size_t size = 0;  // of all that is before the elements
};

// NpyHeader::size of the file whose first kNpyStart bytes, or more, are
// `start`. DataLoss if it is no such file.
absl::StatusOr<size_t> NpyHeaderSize(std::string_view start);

// What the header says with which `start` begins. DataLoss, saying what to do
// about it, for one that is damaged or cut short, for a type that Capstan does
// not have or of the other byte order, and for elements in Fortran's order.
absl::StatusOr<NpyHeader> ParseNpyHeader(std::string_view start);

// As ParseNpyHeader, of a file of which `read` fills a buffer with the next
// bytes, fewer only at the end; it is left behind the header. Errors of `read`
// are passed on.
absl::StatusOr<NpyHeader> ReadNpyHeader(
    const std::function<absl::StatusOr<size_t>(MutableBytes)>& read);

// A header of version 1.0. NumPy has no bf16, so that there is none for it.
std::string EncodeNpyHeader(DType dtype, const Shape& shape);

}  // namespace capstan
