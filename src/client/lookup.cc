#include "client/lookup.h"

#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "optimizer/accumulate.h"
#include "optimizer/widen.h"
#include "tensor/shape.h"
#include "tensor/tensor.h"

namespace capstan {
namespace {

// `shape` with `rows` rows.
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

absl::Status CheckLists(const IdLists& lists) {
  const std::vector<int64_t>& splits = lists.splits;
  const auto ids = static_cast<int64_t>(lists.ids.size());
  if (splits.empty() || splits.front() != 0 || splits.back() != ids) {
    return absl::InvalidArgumentError(absl::StrCat(
        "splits must begin with 0 and end with the number of ids, ", ids));
  }
  for (size_t i = 1; i < splits.size(); ++i) {
    if (splits[i] >= splits[i - 1]) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "splits that descend: ", splits[i], " after ", splits[i - 1]));
  }
  if (lists.weights.empty() || lists.weights.size() == lists.ids.size()) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      lists.weights.size(), " weights for ", lists.ids.size(), " ids"));
}

// Takes out what a safe lookup leaves out.
IdLists Prune(const IdLists& lists) {
  IdLists kept;
  for (size_t list = 1; list < lists.splits.size(); ++list) {
    for (auto i = static_cast<size_t>(lists.splits[list - 1]);
         i < static_cast<size_t>(lists.splits[list]); ++i) {
      const bool weighty = lists.weights.empty() || lists.weights[i] > 0;
      if (lists.ids[i] < 0 || !weighty) continue;
      kept.ids.push_back(lists.ids[i]);
      if (!lists.weights.empty()) kept.weights.push_back(lists.weights[i]);
    }
    kept.splits.push_back(static_cast<int64_t>(kept.ids.size()));
  }
  return kept;
}

// What a sum is divided by, given the sums of its weights and their squares.
double DivisorOf(Combiner combiner, double weights, double squares) {
  switch (combiner) {
    case Combiner::kSum:
      return 1;
    case Combiner::kMean:
      return weights;
    case Combiner::kSqrtN:
      return std::sqrt(squares);
  }
  return 1;
}

// Combines `rows`, of `dtype`, one for each id, into `out`, which is zeroes.
void Combine(const IdLists& lists, Combiner combiner, DType dtype, Bytes rows,
             std::span<float> out) {
  const size_t size = out.size() / (lists.splits.size() - 1);
  const size_t row_bytes = size * SizeOf(dtype);
  std::vector<float> row(size);
  for (size_t list = 0; list + 1 < lists.splits.size(); ++list) {
    const std::span<float> sum = out.subspan(list * size, size);
    double weights = 0;
    double squares = 0;
    for (auto i = static_cast<size_t>(lists.splits[list]);
         i < static_cast<size_t>(lists.splits[list + 1]); ++i) {
      const float weight = lists.weights.empty() ? 1 : lists.weights[i];
      weights += weight;
      squares += double{weight} * weight;
      Widen(dtype, rows.data() + i * row_bytes, size, row.data());
      Accumulate(row, weight, sum);
    }
    const double divisor = DivisorOf(combiner, weights, squares);
    if (divisor == 1) continue;
    for (float& element : sum) {
      element = divisor == 0 ? 0 : static_cast<float>(element / divisor);
    }
  }
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

absl::StatusOr<std::vector<int64_t>> SplitsOf(std::span<const int64_t> segments,
                                              int64_t lists) {
  if (lists < 0) {
    return absl::InvalidArgumentError(absl::StrCat(lists, " lists"));
  }
  std::vector<int64_t> splits = {0};
  for (size_t i = 0; i < segments.size(); ++i) {
    const int64_t segment = segments[i];
    if (segment < 0 || segment >= lists ||
        (i > 0 && segment < segments[i - 1])) {
      return absl::InvalidArgumentError(
          absl::StrCat("segment ", segment, " at position ", i,
                       ": segments ascend and are in [0, ", lists, ")"));
    }
    splits.resize(static_cast<size_t>(segment) + 1, static_cast<int64_t>(i));
  }
  splits.resize(static_cast<size_t>(lists) + 1,
                static_cast<int64_t>(segments.size()));
  return splits;
}

Task<absl::StatusOr<Tensor>> LookupSparse(ParameterClient& client,
                                          uint32_t variable, IdLists lists,
                                          Combiner combiner,
                                          ReadOptions options) {
  CAPSTAN_CO_RETURN_IF_ERROR(CheckLists(lists));
  const absl::StatusOr<VariableSpec> spec =
      co_await client.Spec(variable, options.timeout, options.cancellation);
  if (!spec.ok()) co_return spec.status();
  const DType dtype = spec->dtype;
  if (dtype != DType::kF32 && dtype != DType::kF16 && dtype != DType::kBF16) {
    co_return absl::InvalidArgumentError(absl::StrCat(
        "variable '", spec->name, "' is ", std::string(NameOf(dtype)),
        "; rows of f32, f16 and bf16 can be combined"));
  }
  const absl::StatusOr<Shape> shape = WithRows(*spec, lists.splits.size() - 1);
  if (!shape.ok()) co_return shape.status();
  absl::StatusOr<Tensor> result =
      AllocateTensor(DType::kF32, *shape, Fill::kZero);
  if (!result.ok()) co_return result;
  absl::StatusOr<Buffer> rows = Buffer::Allocate(
      lists.ids.size() * static_cast<size_t>(shape->row_elements()) *
          SizeOf(dtype),
      Fill::kNone);
  if (!rows.ok()) co_return rows.status();
  const MutableBytes into = rows->mutable_bytes();
  const absl::Status status =
      co_await GatherInto(client, variable, lists.ids, into, options);
  if (!status.ok()) co_return status;
  if (shape->num_elements() > 0) {
    Combine(lists, combiner, dtype, into, result->MutableValues<float>());
  }
  co_return result;
}

Task<absl::StatusOr<Tensor>> SafeLookupSparse(ParameterClient& client,
                                              uint32_t variable, IdLists lists,
                                              Combiner combiner,
                                              ReadOptions options) {
  CAPSTAN_CO_RETURN_IF_ERROR(CheckLists(lists));
  IdLists kept = Prune(lists);
  co_return co_await LookupSparse(client, variable, std::move(kept), combiner,
                                  options);
}

}  // namespace capstan
