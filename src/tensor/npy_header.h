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
  DType dtype = DType::kF32;  // as which the elements are held
  Shape shape;
  size_t size = 0;  // of all that is before the elements

  // How they are stored; npy_elements.h decodes them.
  size_t stored_size = 4;      // bytes of one; of dtype, or fewer
  bool is_signed = true;       // if it is an integer
  bool big_endian = false;     // and of more than a byte
  bool fortran_order = false;  // column by column, and that matters
};

// How many bytes follow the header.
size_t StoredBytes(const NpyHeader& header);

// NpyHeader::size of the file whose first kNpyStart bytes, or more, are
// `start`. DataLoss if it is no such file.
absl::StatusOr<size_t> NpyHeaderSize(std::string_view start);

// What the header says with which `start` begins. DataLoss for one that is
// damaged or cut short; InvalidArgument, saying what to do about it, for
// elements of a type that Capstan does not read.
absl::StatusOr<NpyHeader> ParseNpyHeader(std::string_view start);

// As ParseNpyHeader, of a file of which `read` fills a buffer with the next
// bytes, fewer only at the end; it is left behind the header. Errors of `read`
// are passed on.
absl::StatusOr<NpyHeader> ReadNpyHeader(
    const std::function<absl::StatusOr<size_t>(MutableBytes)>& read);

// A header of version 1.0. NumPy has no bf16, so that there is none for it.
std::string EncodeNpyHeader(DType dtype, const Shape& shape);

}  // namespace capstan
