#include "simulate/digits/drift_reference.h"

#include <memory>
#include <utility>

#include "optimizer/updater.h"

namespace capstan::simulate {

std::vector<float> ReplayDrift(const DigitVariables& variables,
                               std::span<const std::vector<size_t>> rounds) {
  const std::unique_ptr<const Updater> updater =
      Updater::Make(DigitVariables::DriftOptimizer()).value();
  std::vector<float> values(variables.drift_elements());
  std::vector<float> momentum(values.size(), updater->slots()[0].initial);
  OptimizerState state;
  for (const std::vector<size_t>& slots : rounds) {
    std::vector<float> sum(values.size());
    for (const size_t slot : slots) {
      const std::vector<float> gradient = variables.DriftGradient(slot);
      for (size_t i = 0; i < sum.size(); ++i) sum[i] += gradient[i];
    }
    DenseUpdate update;
    update.gradient = std::as_bytes(std::span(sum)).data();
    update.size = sum.size();
    update.value_in = values.data();
    update.value_out = values.data();
    update.slots_in[0] = momentum.data();
    update.slots_out[0] = momentum.data();
    updater->Dense(updater->Begin(state, 1.0, 0), update);
    updater->Advance(state);
  }
  return values;
}

}  // namespace capstan::simulate
