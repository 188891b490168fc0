// Converts the elements of a .npy file to Capstan's form: the machine's byte
// order, integers of unsupported widths widened, row by row.
// Thread-safe: pure functions.
#pragma once

#include "base/bytes.h"
#include "base/status.h"
#include "capstan/tensor.h"
#include "tensor/buffer.h"
#include "tensor/npy_header.h"

namespace capstan {

// Whether the stored elements need no conversion, apart from their order.
bool IsPlain(const NpyHeader& header);

// Converts whole elements, one after the other: `from` has header.stored_size
// bytes for each element, and `to` SizeOf(header.dtype) bytes.
void DecodeNpy(const NpyHeader& header, Bytes from, MutableBytes to);

// The tensor of all elements; `stored` holds StoredBytes(header) bytes. Copies
// as little as possible: nothing if a little-endian machine saved the file in C
// order. ResourceExhausted if there is not enough memory.
absl::StatusOr<Tensor> MakeNpyTensor(const NpyHeader& header, Buffer stored);

}  // namespace capstan
