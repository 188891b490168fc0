// What the training of the linear model comes to in one process. Test-only.
#pragma once

#include <algorithm>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "optimizer/updater.h"
#include "train/linear_replica.h"

namespace capstan::testing {

// One array with its slots, updated by an optimizer.
class Updated {
 public:
  Updated(const Optimizer& optimizer, std::vector<float> values)
      : updater_(*Updater::Make(optimizer)), values_(std::move(values)) {
    for (const SlotInfo& slot : updater_->slots()) {
      slots_.emplace_back(values_.size(), slot.initial);
    }
  }

  // The mean of `count` gradients whose sum is given.
  void Apply(const std::vector<float>& sum, std::size_t count) {
    DenseUpdate update;
    update.gradient = std::as_bytes(std::span(sum)).data();
    update.size = sum.size();
    update.value_in = update.value_out = values_.data();
    for (std::size_t s = 0; s < slots_.size(); ++s) {
      update.slots_in[s] = update.slots_out[s] = slots_[s].data();
    }
    updater_->Dense(
        updater_->Begin(state_, 1.0 / static_cast<double>(count), 0), update);
    updater_->Advance(state_);
  }

  const std::vector<float>& values() const { return values_; }

 private:
  std::unique_ptr<const Updater> updater_;
  OptimizerState state_;
  std::vector<float> values_;
  std::vector<std::vector<float>> slots_;
};

// In one process: `replicas` batches, their gradients added up in order, make a
// round; the last of an epoch may have fewer.
struct LinearReference {
  explicit LinearReference(const Optimizer& optimizer)
      : w(optimizer, std::vector<float>(kFeatures)), b(optimizer, {0.5f}) {}

  Updated w;
  Updated b;

  void Epoch(const ExampleTable& table, std::int64_t replicas) {
    for (std::int64_t at = 0; at < table.size(); at += replicas) {
      const std::int64_t end = std::min(table.size(), at + replicas);
      LinearGradient sum;
      for (std::int64_t i = at; i < end; ++i) {
        const Example batch = table.At(i);
        const auto rows = static_cast<std::size_t>(batch["y"].shape()[0]);
        const auto gradient =
            GradientOf(PredictLinear(w.values(), b.values(), batch["x"]),
                       std::vector<float>(rows, 1.0f), batch);
        for (std::size_t f = 0; f < sum.w.size(); ++f) {
          sum.w[f] += gradient.w[f];
        }
        sum.b[0] += gradient.b[0];
      }
      w.Apply(sum.w, static_cast<std::size_t>(end - at));
      b.Apply(sum.b, static_cast<std::size_t>(end - at));
    }
  }
};

}  // namespace capstan::testing
