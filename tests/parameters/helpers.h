// Short ways to say what the tests of parameters do most. Test-only.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "testing/parameter_job.h"
#include "testing/status_matchers.h"

namespace capstan::testing {

// Elements of a shard that is streamed: 8 MiB.
inline constexpr int64_t kLarge = 2 << 20;
inline constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

template <typename T>
Bytes BytesOf(const std::vector<T>& values) {
  return std::as_bytes(std::span(values));
}
template <typename T>
MutableBytes BytesOf(std::vector<T>& values) {
  return std::as_writable_bytes(std::span(values));
}

// f32, zeroes, and Sgd with the rate 1: a gradient is subtracted as it is.
inline VariableSpec Spec(std::string name, Shape shape) {
  VariableSpec spec;
  spec.name = std::move(name);
  spec.shape = shape;
  spec.optimizer = Sgd{.learning_rate = 1.0};
  return spec;
}

// One without an optimizer.
inline VariableSpec Plain(std::string name, Shape shape,
                          DType dtype = DType::kF32) {
  VariableSpec spec;
  spec.name = std::move(name);
  spec.shape = shape;
  spec.dtype = dtype;
  return spec;
}

// base, base + 1, ...
inline std::vector<float> Counting(size_t size, float base = 0) {
  std::vector<float> values(size);
  for (size_t i = 0; i < size; ++i) values[i] = base + static_cast<float>(i);
  return values;
}

inline std::vector<float> SomeGradient(uint64_t seed, size_t size) {
  Random random(seed);
  std::vector<float> gradient(size);
  for (float& g : gradient) {
    g = static_cast<float>(random.Between(-1'000'000, 1'000'000)) * 1e-5f;
  }
  return gradient;
}

template <typename T>
DenseItem Dense(uint32_t variable, const std::vector<T>& values,
                const ShardVersions* based_on = nullptr) {
  DenseItem item;
  item.variable = variable;
  item.dtype = DTypeOf<T>();
  item.values = BytesOf(values);
  item.based_on = based_on;
  return item;
}

template <typename T>
RowsItem Rows(uint32_t variable, const std::vector<int64_t>& ids,
              const std::vector<T>& values) {
  RowsItem item;
  item.variable = variable;
  item.ids = ids;
  item.dtype = DTypeOf<T>();
  item.values = BytesOf(values);
  return item;
}

// An update of one variable, all of it or by rows.
template <typename T>
absl::StatusOr<UpdateResult> Push(ParameterJob& job, ParameterClient& client,
                                  UpdateId id, const std::string& name,
                                  const std::vector<T>& values,
                                  Operation operation = Operation::kGradient,
                                  const ShardVersions* based_on = nullptr) {
  const DenseItem item = Dense(job.Id(name), values, based_on);
  return job.Run(client, client.Update(id, operation, std::span(&item, 1), {}));
}
template <typename T>
absl::StatusOr<UpdateResult> Scatter(
    ParameterJob& job, ParameterClient& client, UpdateId id,
    const std::string& name, const std::vector<int64_t>& ids,
    const std::vector<T>& values, Operation operation = Operation::kGradient) {
  const RowsItem item = Rows(job.Id(name), ids, values);
  return job.Run(client, client.Update(id, operation, {}, std::span(&item, 1)));
}

// All of a variable, as T.
template <typename T>
absl::StatusOr<std::vector<T>> ReadAs(ParameterJob& job,
                                      ParameterClient& client,
                                      const std::string& name,
                                      ReadOptions options = {}) {
  const VariableEntry* entry = job.map().Find(name);
  if (entry == nullptr) return absl::NotFoundError(name);
  std::vector<T> values(static_cast<size_t>(entry->spec.shape.num_elements()));
  PullItem item;
  item.variable = entry->id;
  item.into = BytesOf(values);
  CAPSTAN_RETURN_IF_ERROR(
      job.Run(client, client.Pull(std::span(&item, 1), options)));
  return values;
}

// Some rows of a variable.
inline absl::StatusOr<std::vector<float>> GatherRows(
    ParameterJob& job, ParameterClient& client, const std::string& name,
    const std::vector<int64_t>& ids, ReadOptions options = {}) {
  const VariableEntry* entry = job.map().Find(name);
  if (entry == nullptr) return absl::NotFoundError(name);
  std::vector<float> values(
      ids.size() * static_cast<size_t>(entry->spec.shape.row_elements()));
  GatherItem item;
  item.variable = entry->id;
  item.ids = ids;
  item.into = BytesOf(values);
  CAPSTAN_RETURN_IF_ERROR(
      job.Run(client, client.Gather(std::span(&item, 1), options)));
  return values;
}

// The request of an update of shard `shard` of a variable, to be sent by hand.
inline ShardsRequest HandRequest(ParameterJob& job, const std::string& name,
                                 uint32_t shard = 0) {
  ShardsRequest request;
  request.id = job.NextStep();
  request.map_version = job.map().version();
  request.parts.push_back({.key = {.variable = job.Id(name), .shard = shard}});
  return request;
}

}  // namespace capstan::testing
