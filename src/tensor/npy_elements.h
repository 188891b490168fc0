// The elements of a .npy file, as Capstan holds them: in the machine's byte
// order, integers of other widths as wider ones, row by row.
// Thread-safe: pure functions.
#pragma once

#include "base/bytes.h"
#include "base/status.h"
#include "capstan/tensor.h"
#include "tensor/buffer.h"
#include "tensor/npy_header.h"

namespace capstan {

// Whether elements are stored as they are held, whatever their order.
bool IsPlain(const NpyHeader& header);

// Whole elements, one after the other: `from` is as many times
// header.stored_size as `to` is SizeOf(header.dtype).
void DecodeNpy(const NpyHeader& header, Bytes from, MutableBytes to);

// The tensor of all the elements, StoredBytes(header) of them. As little as
// possible is copied: nothing of what a little-endian machine has saved in C
// order. ResourceExhausted, for what there is no memory for.
absl::StatusOr<Tensor> MakeNpyTensor(const NpyHeader& header, Buffer stored);

}  // namespace capstan
