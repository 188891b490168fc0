#include "client/lookup.h"

#include <span>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tensor/shape.h"
#include "tensor/tensor.h"

namespace capstan {
namespace {

absl::StatusOr<Shape> WithRows(const VariableSpec& spec, size_t rows) {
  if (spec.shape.rank() == 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "variable '", spec.name, "' is a scalar, which has no rows"));
  }
  const std::span<const int64_t> old = spec.shape.dims();
  std::vector<int64_t> dims(old.begin(), old.end());
  dims[0] = static_cast<int64_t>(rows);
  return MakeShape(dims);
}

Task<absl::Status> GatherInto(ParameterClient& client, uint32_t variable,
                              std::span<const int64_t> ids, MutableBytes into,
                              ReadOptions options) {
  GatherItem item;
  item.variable = variable;
  item.ids = ids;
  item.into = into;
  const std::span<GatherItem> items(&item, 1);
  co_return co_await client.Gather(items, options);
}

}  // namespace

Task<absl::StatusOr<Tensor>> LookupRows(ParameterClient& client,
                                        uint32_t variable,
                                        std::vector<int64_t> ids,
                                        ReadOptions options) {
  const absl::StatusOr<VariableSpec> spec =
      co_await client.Spec(variable, options.timeout, options.cancellation);
  if (!spec.ok()) co_return spec.status();
  const absl::StatusOr<Shape> shape = WithRows(*spec, ids.size());
  if (!shape.ok()) co_return shape.status();
  absl::StatusOr<Tensor> result =
      AllocateTensor(spec->dtype, *shape, Fill::kNone);
  if (!result.ok()) co_return result;
  const MutableBytes into = result->mutable_view().mutable_bytes();
  const absl::Status status =
      co_await GatherInto(client, variable, ids, into, options);
  if (!status.ok()) co_return status;
  co_return result;
}

}  // namespace capstan
