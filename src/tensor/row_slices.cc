#include "tensor/row_slices.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "tensor/tensor.h"
#include "tensor/view.h"

namespace capstan {

absl::StatusOr<RowSlicesView> RowSlicesView::Make(std::span<const int64_t> ids,
                                                  const TensorView& rows) {
  if (rows.shape().rank() == 0 ||
      std::cmp_not_equal(rows.shape().num_rows(), ids.size())) {
    return absl::InvalidArgumentError(
        absl::StrCat(ids.size(), " row ids for rows of ", Describe(rows)));
  }
  return RowSlicesView(ids, rows);
}

absl::Status RowSlicesView::Validate(int64_t num_rows) const {
  auto bad = std::find_if(ids_.begin(), ids_.end(),
                          [&](int64_t id) { return id < 0 || id >= num_rows; });
  if (bad == ids_.end()) return absl::OkStatus();
  return absl::OutOfRangeError(absl::StrCat("row id ", *bad, " at position ",
                                            bad - ids_.begin(),
                                            " is not in [0, ", num_rows, ")"));
}

bool RowSlicesView::HasDuplicates() const {
  auto not_ascending =
      std::adjacent_find(ids_.begin(), ids_.end(), std::greater_equal<>());
  if (not_ascending == ids_.end()) return false;
  absl::flat_hash_set<int64_t> seen;
  seen.reserve(ids_.size());
  return !std::all_of(ids_.begin(), ids_.end(),
                      [&](int64_t id) { return seen.insert(id).second; });
}

RowSlices::RowSlices()
    : RowSlices(Tensor(DType::kI64, {0}, nullptr), Tensor()) {}

RowSlices::RowSlices(Tensor ids, Tensor rows)
    : ids_(std::move(ids)), rows_(std::move(rows)) {}

absl::StatusOr<RowSlices> RowSlices::Make(Tensor ids, Tensor rows) {
  if (ids.shape().rank() != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("row ids must be of rank 1, not ", Describe(ids.view())));
  }
  absl::StatusOr<std::span<const int64_t>> values =
      ValuesOf<int64_t>(ids.view());
  CAPSTAN_RETURN_IF_ERROR(values.status());
  CAPSTAN_RETURN_IF_ERROR(RowSlicesView::Make(*values, rows.view()).status());
  return RowSlices(std::move(ids), std::move(rows));
}

absl::StatusOr<RowSlices> RowSlices::CopyOf(const RowSlicesView& view) {
  Shape ids_shape = {static_cast<int64_t>(view.size())};
  absl::StatusOr<Tensor> ids =
      CopyTensor(TensorView(DType::kI64, ids_shape, view.ids().data()));
  CAPSTAN_RETURN_IF_ERROR(ids.status());
  absl::StatusOr<Tensor> rows = CopyTensor(view.rows());
  CAPSTAN_RETURN_IF_ERROR(rows.status());
  return RowSlices(*std::move(ids), *std::move(rows));
}

RowSlicesView RowSlices::view() const {
  // Make has checked both, so neither of these throws or fails.
  return *RowSlicesView::Make(ids_.Values<int64_t>(), rows_.view());
}

}  // namespace capstan
