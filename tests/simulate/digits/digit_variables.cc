#include "simulate/digits/digit_variables.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/random.h"
#include "capstan/partitioner.h"

namespace capstan::simulate {
namespace {

constexpr size_t kDriftElementsPerShard = 5;

VariableSpec SpecOf(const char* name, Shape shape, UpdateMode update) {
  VariableSpec spec;
  spec.name = name;
  spec.shape = std::move(shape);
  spec.optimizer = Sgd{.learning_rate = 1.0};
  spec.aggregation = Aggregation::kSum;
  spec.update = update;
  return spec;
}

UpdateMode ModeOf(const DigitOptions& options, DigitVariable variable) {
  const bool rows = variable == DigitVariable::kRows;
  if (options.bounded()) {
    return BoundedStaleness{.replicas = options.replicas,
                            .bound = options.bound};
  }
  if (options.mode == DigitMode::kSync ||
      (options.mode == DigitMode::kMixed && !rows)) {
    return Sync{.replicas = options.replicas, .backup = options.backup};
  }
  return Async{};
}

}  // namespace

DigitVariables::DigitVariables(const DigitOptions& options, uint64_t seed)
    : mode_(options.mode),
      seed_(seed),
      shards_(static_cast<size_t>(options.servers)),
      dense_{.digits = ElementsFor(static_cast<size_t>(options.updates)),
             .padding = static_cast<size_t>(options.padding)},
      rows_{.digits = dense_.digits,
            .padding = static_cast<size_t>(options.row_padding)},
      has_drift_(options.sync()) {
  const auto rows = static_cast<int64_t>(shards_ * rows_.size());
  std::vector<VariableSpec> specs;
  const auto dense = static_cast<int64_t>(shards_ * dense_.size());
  specs.push_back(
      SpecOf("dense", Shape{dense}, ModeOf(options, DigitVariable::kDense)));
  specs.push_back(SpecOf("rows", Shape{rows, int64_t{kRowColumns}},
                         ModeOf(options, DigitVariable::kRows)));
  if (has_drift_) {
    specs.push_back(SpecOf("drift",
                           Shape{static_cast<int64_t>(drift_elements())},
                           ModeOf(options, DigitVariable::kDense)));
    specs.back().optimizer = DriftOptimizer();
  }
  const absl::StatusOr<ShardMap> map =
      ShardMap::Make(1, 0, static_cast<uint32_t>(shards_), {});
  map_ =
      AddVariables(map.value(), std::move(specs), FixedShards(options.servers))
          .value();
  dense_id_ = map_.Find("dense")->id;
  rows_id_ = map_.Find("rows")->id;
  if (has_drift_) drift_id_ = map_.Find("drift")->id;
}

size_t DigitVariables::drift_elements() const {
  return shards_ * kDriftElementsPerShard;
}

Optimizer DigitVariables::DriftOptimizer() {
  return Momentum{.learning_rate = 0.1, .momentum = 0.9};
}

bool DigitVariables::IsSync(DigitVariable variable) const {
  return mode_ == DigitMode::kSync ||
         (mode_ == DigitMode::kMixed && variable == DigitVariable::kDense);
}

DigitValues DigitVariables::NewValues() const {
  DigitValues values;
  values.dense.resize(shards_ * dense_.size());
  values.rows.resize(shards_ * rows_.size() * kRowColumns);
  if (has_drift_) values.drift.resize(drift_elements());
  return values;
}

DigitGradient DigitVariables::Gradient(size_t slot) const {
  const DigitPlace place = PlaceOfSlot(slot);
  DigitGradient gradient;
  gradient.dense.resize(shards_ * dense_.size());
  std::vector<int64_t> ids;
  for (size_t shard = 0; shard < shards_; ++shard) {
    for (size_t c = 0; c < dense_.copies(); ++c) {
      const size_t at = shard * dense_.size() + dense_.At(c, place.element);
      gradient.dense[at] = -place.weight;
    }
    for (size_t c = 0; c < rows_.copies(); ++c) {
      const size_t at = shard * rows_.size() + rows_.At(c, place.element);
      ids.push_back(static_cast<int64_t>(at));
    }
  }
  // Every other update names each row twice, with half of the gradient, and in
  // another order: the sum is the same.
  const bool halves = slot % 2 == 1;
  gradient.ids = ids;
  if (halves) gradient.ids.insert(gradient.ids.end(), ids.rbegin(), ids.rend());
  if (halves) std::reverse(gradient.ids.begin(), gradient.ids.end());
  gradient.rows.assign(gradient.ids.size() * kRowColumns,
                       halves ? -place.weight / 2 : -place.weight);
  if (has_drift_) gradient.drift = DriftGradient(slot);
  return gradient;
}

std::vector<float> DigitVariables::DriftGradient(size_t slot) const {
  Random random = Random(seed_, slot).Fork("drift");
  std::vector<float> gradient(drift_elements());
  for (float& value : gradient) {
    // Of very different magnitudes, so that sums depend on their order.
    const auto scale = static_cast<int>(random.Between(-12, 12));
    value = static_cast<float>(std::ldexp(random.Uniform() - 0.5, scale));
  }
  return gradient;
}

Decoded DigitVariables::Decode(DigitVariable variable,
                               std::span<const float> values,
                               size_t shard) const {
  const bool rows = variable == DigitVariable::kRows;
  const DigitLayout& layout = rows ? rows_ : dense_;
  const size_t columns = rows ? kRowColumns : 1;
  const size_t size = layout.size() * columns;
  const std::span<const float> all = values.subspan(shard * size, size);
  const std::span<const float> first = all.first(layout.digits * columns);
  Decoded decoded = DecodeDigits(first, columns);
  for (size_t i = 0; i < first.size(); ++i) {
    decoded.readable &= first[i] == first[i / columns * columns];
  }
  if (layout.padding == 0) return decoded;
  const std::span<const float> last = all.last(first.size());
  const std::span<const float> middle =
      all.subspan(first.size(), layout.padding * columns);
  decoded.readable &= std::equal(last.begin(), last.end(), first.begin()) &&
                      std::all_of(middle.begin(), middle.end(),
                                  [](float value) { return value == 0; });
  return decoded;
}

}  // namespace capstan::simulate
