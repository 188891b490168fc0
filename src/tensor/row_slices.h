// Some rows of a variable: what an embedding pulls, and what its gradient
// pushes. Row i of the values belongs to row ids[i] of the variable.
#pragma once

#include <cstdint>
#include <span>

#include "base/status.h"
#include "capstan/tensor.h"

namespace capstan {

// Row slices in memory that belongs to someone else. A small value that must
// not outlive that memory. Thread-safe: immutable.
class RowSlicesView {
 public:
  // kInvalidArgument, naming both sizes, unless `rows` has a first axis and as
  // many rows as there are ids. The ids may be of any value: see Validate.
  static absl::StatusOr<RowSlicesView> Make(std::span<const int64_t> ids,
                                            const TensorView& rows);

  std::span<const int64_t> ids() const { return ids_; }
  const TensorView& rows() const { return rows_; }
  size_t size() const { return ids_.size(); }

  // OK if every id is a row of a variable with `num_rows` rows. Else
  // kOutOfRange, naming the first id that is not and its position.
  absl::Status Validate(int64_t num_rows) const;

  // Whether an id occurs twice. Takes expected time linear in size(), and
  // allocates as much unless the ids ascend.
  bool HasDuplicates() const;

 private:
  RowSlicesView(std::span<const int64_t> ids, const TensorView& rows)
      : ids_(ids), rows_(rows) {}

  std::span<const int64_t> ids_;
  TensorView rows_;
};

// Row slices that own their memory: a handle that shares it when copied, as
// Tensor. Thread-safe: immutable, as long as the tensors it was made from are
// not written.
class RowSlices {
 public:
  // No rows.
  RowSlices();

  // Keeps both tensors, copies nothing. `ids` must be i64 of rank 1; else, and
  // in the cases of RowSlicesView::Make, kInvalidArgument.
  static absl::StatusOr<RowSlices> Make(Tensor ids, Tensor rows);

  // A copy. kResourceExhausted if there is not enough memory.
  static absl::StatusOr<RowSlices> CopyOf(const RowSlicesView& view);

  const Tensor& ids() const { return ids_; }
  const Tensor& rows() const { return rows_; }

  // Valid while a handle to the memory lives.
  RowSlicesView view() const;

 private:
  RowSlices(Tensor ids, Tensor rows);

  Tensor ids_;
  Tensor rows_;
};

}  // namespace capstan
