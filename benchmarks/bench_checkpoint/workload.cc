#include "bench_checkpoint/workload.h"

#include <algorithm>
#include <random>
#include <string>

namespace capstan::bench {
namespace {

struct Table {
  const char* name;
  std::int64_t rows;
};
constexpr Table kTables[] = {{"users", 4'000'000}, {"items", 1'395'733}};
constexpr std::int64_t kWidth = 16;
// Per table and step: 26 columns of 512 examples give this many in both
// together.
constexpr std::int64_t kRowsPerStep = 6'656;

std::vector<VariableSpec> DenseVariables() {
  return {{.name = "hidden", .shape = {2048, 1024}},
          {.name = "output", .shape = {1024, 1024}},
          {.name = "bias", .shape = {1024}}};
}

// Small, and not all equal.
Tensor Gradient(const Shape& shape) {
  Tensor gradient = Tensor::Uninitialized(DType::kF32, shape);
  std::minstd_rand random(1);
  std::uniform_real_distribution<float> uniform(-0.01f, 0.01f);
  std::ranges::generate(gradient.MutableValues<float>(),
                        [&] { return uniform(random); });
  return gradient;
}

Gradients MakeGradients(const InputContext&) {
  Gradients made;
  for (const VariableSpec& spec : DenseVariables()) {
    made.dense.push_back(
        {.variable = spec.name, .values = Gradient(spec.shape)});
  }
  made.rows = Gradient({kRowsPerStep, kWidth});
  return made;
}

void Step(WorkerContext& worker, const PerWorker<Gradients>& gradients) {
  std::mt19937_64 random(worker.step());
  std::vector<VariableUpdate> updates = gradients->dense;
  std::vector<std::string> dense;
  for (const VariableUpdate& update : updates) dense.push_back(update.variable);
  worker.ReadAll(dense);
  for (const Table& table : kTables) {
    std::uniform_int_distribution<std::int64_t> row(0, table.rows - 1);
    Tensor ids = Tensor::Uninitialized(DType::kI64, {kRowsPerStep});
    std::ranges::generate(ids.MutableValues<std::int64_t>(),
                          [&] { return row(random); });
    worker.ReadRows(table.name, ids.Values<std::int64_t>());
    updates.push_back(
        {.variable = table.name, .values = gradients->rows, .ids = ids});
  }
  worker.ApplyGradients(updates);
}

}  // namespace

std::vector<VariableSpec> SavedVariables() {
  std::vector<VariableSpec> specs = DenseVariables();
  for (const Table& table : kTables) {
    specs.push_back({.name = table.name, .shape = {table.rows, kWidth}});
  }
  for (VariableSpec& spec : specs) {
    spec.initializer = Uniform{};
    spec.optimizer = Adam{};
  }
  return specs;
}

Workload::Workload(Definitions& program)
    : gradients(program.AddResource("gradients", MakeGradients)),
      step(program.AddFunction("step", Step)) {}

}  // namespace capstan::bench
