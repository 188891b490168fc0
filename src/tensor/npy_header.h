// The header of a .npy file (numpy.lib.format): "\x93NUMPY", two bytes of
// version, the length of a Python dict, and the dict:
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

// The first bytes of a file, which give the header's length.
inline constexpr size_t kNpyStart = 12;
// The longest header accepted: more than NumPy writes for any plain array.
inline constexpr size_t kMaxNpyHeader = kNpyStart + (size_t{64} << 10);

struct NpyHeader {
  DType dtype = DType::kF32;  // in memory
  Shape shape;
  size_t size = 0;  // bytes before the elements

  // How elements are stored in the file; npy_elements.h decodes them.
  size_t stored_size = 4;      // bytes per element; of dtype, or fewer
  bool is_signed = true;       // for integers
  bool big_endian = false;     // for elements wider than a byte
  bool fortran_order = false;  // column-major, where that matters
};

// The number of bytes after the header.
size_t StoredBytes(const NpyHeader& header);

// NpyHeader::size of the file that begins with `start`, which has at least
// kNpyStart bytes. DataLoss if it is not a .npy file.
absl::StatusOr<size_t> NpyHeaderSize(std::string_view start);

// Parses the header at the beginning of `start`. DataLoss if it is damaged or
// truncated; InvalidArgument, saying what to do, for element types that Capstan
// does not read.
absl::StatusOr<NpyHeader> ParseNpyHeader(std::string_view start);

// ParseNpyHeader for a file: `read` fills a buffer with the next bytes, fewer
// only at the end. Leaves the file positioned after the header. Errors of
// `read` are passed on.
absl::StatusOr<NpyHeader> ReadNpyHeader(
    const std::function<absl::StatusOr<size_t>(MutableBytes)>& read);

// A header of version 1.0. NumPy has no bf16, so neither does this.
std::string EncodeNpyHeader(DType dtype, const Shape& shape);

}  // namespace capstan
