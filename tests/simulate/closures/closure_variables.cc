#include "simulate/closures/closure_variables.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"

namespace capstan::simulate {
namespace {

UpdateMode ModeOf(const ClosureOptions& options) {
  if (options.sync()) {
    return Sync{.replicas = options.replicas, .backup = options.backup};
  }
  if (options.bounded()) {
    return BoundedStaleness{.replicas = options.replicas,
                            .bound = options.bound};
  }
  return Async{};
}

}  // namespace

ClosureVariables::ClosureVariables(const ClosureOptions& options)
    : mode_(ModeOf(options)),
      tables_(options.num_tables()),
      shards_(options.shards_per_variable()),
      elements_(ElementsFor(
          (static_cast<size_t>(options.closures) + tables_ - 1) / tables_)) {}

std::string ClosureVariables::NameOf(DigitVariable variable,
                                     size_t table) const {
  return absl::StrCat(variable == DigitVariable::kDense ? "dense" : "rows",
                      table);
}

std::vector<VariableSpec> ClosureVariables::Specs() const {
  std::vector<VariableSpec> specs;
  const auto size = static_cast<int64_t>(shards_ * elements_);
  for (size_t table = 0; table < tables_; ++table) {
    for (const auto variable : {DigitVariable::kDense, DigitVariable::kRows}) {
      VariableSpec& spec = specs.emplace_back();
      spec.name = NameOf(variable, table);
      spec.shape =
          variable == DigitVariable::kDense ? Shape{size} : Shape{size, 1};
      spec.optimizer = Sgd{.learning_rate = 1.0};
      spec.aggregation = Aggregation::kSum;
      spec.update = mode_;
      // Then one request is enough for both.
      if (shards_ == 1 && variable == DigitVariable::kRows) {
        spec.colocate_with = NameOf(DigitVariable::kDense, table);
      }
    }
  }
  return specs;
}

std::vector<ClosureVariables::Update> ClosureVariables::UpdatesOf(
    size_t number) const {
  const DigitPlace place = PlaceOfSlot(SlotOf(number));
  const auto size = static_cast<int64_t>(shards_ * elements_);
  Tensor dense = Tensor::Zeros(DType::kF32, {size});
  std::vector<int64_t> ids;
  for (size_t shard = 0; shard < shards_; ++shard) {
    const size_t at = shard * elements_ + place.element;
    dense.MutableValues<float>()[at] = -place.weight;
    ids.push_back(static_cast<int64_t>(at));
  }
  const auto count = static_cast<int64_t>(ids.size());
  const std::vector<float> weights(ids.size(), -place.weight);
  VariableUpdate whole;
  whole.variable = NameOf(DigitVariable::kDense, TableOf(number));
  whole.values = dense;
  VariableUpdate rows;
  rows.variable = NameOf(DigitVariable::kRows, TableOf(number));
  rows.values = Tensor::FromValues({count, 1}, weights);
  rows.ids = Tensor::FromValues({count}, ids);
  if (number % 2 == 0) return {{whole, rows}};
  return {{whole}, {rows}};
}

std::vector<int64_t> ClosureVariables::RowIds() const {
  std::vector<int64_t> ids(shards_ * elements_);
  std::iota(ids.rbegin(), ids.rend(), int64_t{0});
  return ids;
}

std::vector<float> ClosureVariables::RowsInOrder(const Tensor& read) const {
  const std::span<const float> values = read.Values<float>();
  return {values.rbegin(), values.rend()};
}

Decoded ClosureVariables::Decode(std::span<const float> values,
                                 size_t shard) const {
  return DecodeDigits(values.subspan(shard * elements_, elements_));
}

}  // namespace capstan::simulate
