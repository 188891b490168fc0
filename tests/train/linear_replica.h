// A linear model in plain C++, with its gradients by hand, and data for it:
// what the tests of training share, also those that are programs. Test-only.
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "capstan/dataset.h"
#include "capstan/tensor.h"
#include "capstan/trainer.h"
#include "capstan/worker.h"

namespace capstan::testing {

inline constexpr std::int64_t kFeatures = 3;

// The weight of each example of a batch.
inline std::vector<float> WeightsOf(const StepConfig& order,
                                    const Example& batch) {
  const Tensor y = batch[order.target];
  std::vector<float> weights(y.Values<float>().size(), 1);
  const std::string name =
      order.weight.empty() ? "sample_weight" : order.weight;
  if (!order.weight.empty() || batch.Contains(name)) {
    const Tensor given = batch[name];
    for (std::size_t i = 0; i < weights.size(); ++i) {
      weights[i] = given.Values<float>()[i];
    }
  }
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const auto found = order.class_weights.find(
        static_cast<std::int64_t>(y.Values<float>()[i]));
    if (found != order.class_weights.end()) {
      weights[i] *= static_cast<float>(found->second);
    }
  }
  return weights;
}

inline std::vector<float> PredictLinear(std::span<const float> w,
                                        std::span<const float> b,
                                        const Tensor& x) {
  std::vector<float> out(static_cast<std::size_t>(x.shape()[0]), b[0]);
  const auto values = x.Values<float>();
  for (std::size_t i = 0; i < out.size(); ++i) {
    for (std::size_t f = 0; f < w.size(); ++f) {
      out[i] += w[f] * values[i * w.size() + f];
    }
  }
  return out;
}

// Of the mean squared error.
struct LinearGradient {
  std::vector<float> w = std::vector<float>(kFeatures);
  std::vector<float> b = std::vector<float>(1);
};
inline LinearGradient GradientOf(const std::vector<float>& predictions,
                                 const std::vector<float>& weights,
                                 const Example& batch) {
  LinearGradient gradient;
  const Tensor x = batch["x"];
  const Tensor y = batch["y"];
  float total = 0;
  for (const float weight : weights) total += weight;
  for (std::size_t i = 0; i < predictions.size(); ++i) {
    const float slope =
        2 * weights[i] * (predictions[i] - y.Values<float>()[i]) / total;
    for (std::size_t f = 0; f < gradient.w.size(); ++f) {
      gradient.w[f] += slope * x.Values<float>()[i * gradient.w.size() + f];
    }
    gradient.b[0] += slope;
  }
  return gradient;
}

// y = w x + b, by the squared error, whatever the order's loss is.
class LinearReplica : public ModelReplica {
 public:
  explicit LinearReplica(const std::string& model = "linear")
      : w_(model + "/w"), b_(model + "/b") {}

  std::vector<ModelVariable> Variables() override {
    return {{.spec = {.name = w_, .shape = {kFeatures}},
             .initial = Tensor::Zeros(DType::kF32, {kFeatures})},
            {.spec = {.name = b_, .shape = {1}, .initializer = Constant{0.5}}}};
  }

  void Train(WorkerContext& worker, const StepConfig& order,
             const NextBatch& next,
             std::span<const std::unique_ptr<MetricState>> metrics,
             StepReport& report) override {
    while (const std::optional<Example> batch = next()) {
      const std::vector<Tensor> values = Read(worker);
      const std::vector<float> weights = WeightsOf(order, *batch);
      const std::vector<float> predictions =
          Measure(values, order, *batch, weights, metrics, report);
      const LinearGradient gradient = GradientOf(predictions, weights, *batch);
      worker.ApplyGradients({{w_, Tensor::FromValues({kFeatures}, gradient.w)},
                             {b_, Tensor::FromValues({1}, gradient.b)}});
      report.compute_ns += 1'000'000;
    }
  }

  void Evaluate(WorkerContext& worker, const StepConfig& order,
                const NextBatch& next,
                std::span<const std::unique_ptr<MetricState>> metrics,
                StepReport& report) override {
    const std::vector<Tensor> values = Read(worker);
    while (const std::optional<Example> batch = next()) {
      Measure(values, order, *batch, WeightsOf(order, *batch), metrics, report);
    }
  }

  void Predict(WorkerContext& worker, const StepConfig& order,
               const NextBatch& next,
               const std::function<void(Tensor)>& give) override {
    const std::vector<Tensor> values = Read(worker);
    while (const std::optional<Example> batch = next()) {
      const std::vector<float> out =
          PredictLinear(values[0].Values<float>(), values[1].Values<float>(),
                        (*batch)[order.input]);
      give(Tensor::FromValues({static_cast<std::int64_t>(out.size()), 1}, out));
    }
  }

 private:
  std::vector<Tensor> Read(WorkerContext& worker) const {
    return worker.ReadAll({w_, b_});
  }

  static std::vector<float> Measure(
      const std::vector<Tensor>& values, const StepConfig& order,
      const Example& batch, const std::vector<float>& weights,
      std::span<const std::unique_ptr<MetricState>> metrics,
      StepReport& report) {
    const Tensor y = batch[order.target];
    std::vector<float> out =
        PredictLinear(values[0].Values<float>(), values[1].Values<float>(),
                      batch[order.input]);
    for (std::size_t i = 0; i < out.size(); ++i) {
      const double error = static_cast<double>(out[i]) -
                           static_cast<double>(y.Values<float>()[i]);
      report.loss_sum += static_cast<double>(weights[i]) * error * error;
      report.weight_sum += static_cast<double>(weights[i]);
    }
    const Tensor predictions =
        Tensor::FromValues({static_cast<std::int64_t>(out.size())}, out);
    for (const std::unique_ptr<MetricState>& metric : metrics) {
      metric->Update({y.view(), predictions.view(), weights});
    }
    ++report.batches;
    report.examples += out.size();
    return out;
  }

  const std::string w_;
  const std::string b_;
};

inline Model AddLinearModel(Definitions& program,
                            const std::string& name = "linear") {
  return AddModel(program, {.name = name, .make = [name] {
                              return std::make_unique<LinearReplica>(name);
                            }});
}

// `examples` of a known plane; "id" numbers them.
inline Example Plane(std::int64_t examples) {
  std::vector<float> x;
  std::vector<float> y;
  std::vector<std::int64_t> id;
  for (std::int64_t i = 0; i < examples; ++i) {
    float sum = 1;
    for (std::int64_t f = 0; f < kFeatures; ++f) {
      const float value = std::sin(static_cast<float>(i * (f + 1) + f));
      x.push_back(value);
      sum += static_cast<float>(f - 1) * value;
    }
    y.push_back(sum);
    id.push_back(i);
  }
  return Example({{"x", Tensor::FromValues({examples, kFeatures}, x)},
                  {"y", Tensor::FromValues({examples}, y)},
                  {"id", Tensor::FromValues({examples}, id)}});
}

inline Dataset PlaneBatches(std::int64_t examples, std::int64_t batch) {
  return Dataset::FromTensors(Plane(examples)).Batch(batch);
}

inline DatasetHandle AddData(Definitions& definitions, const std::string& name,
                             const Dataset& dataset) {
  return definitions.AddDataset(
      name, [dataset](const InputContext&) { return dataset; });
}

}  // namespace capstan::testing
