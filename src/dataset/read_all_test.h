// Reads whole datasets, and writes the files they are read from. Test-only.
#pragma once

#include <atomic>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "capstan/dataset.h"

namespace capstan {

inline std::vector<Example> ReadAll(const Dataset& dataset) {
  std::vector<Example> all;
  const Dataset::Source next = dataset.Open();
  while (auto example = next()) all.push_back(*std::move(example));
  return all;
}

// The one i64 of a scalar tensor.
inline std::int64_t ValueOf(const Example& example,
                            std::string_view name = "value") {
  return example[name].Values<std::int64_t>()[0];
}

inline std::vector<std::int64_t> ValuesOf(const Dataset& dataset) {
  std::vector<std::int64_t> values;
  const Dataset::Source next = dataset.Open();
  while (auto example = next()) values.push_back(ValueOf(*example));
  return values;
}

// The elements of a tensor.
template <typename T>
std::vector<T> Elements(const Tensor& tensor) {
  const auto values = tensor.Values<T>();
  return {values.begin(), values.end()};
}

inline Example Number(std::int64_t value) {
  return Example{{"value", Tensor::Scalar(value)}};
}

// The numbers below `end`; counts in `asked` how many were requested.
inline Dataset Counted(std::int64_t end, std::atomic<std::int64_t>& asked) {
  return Dataset::FromGenerator([end, &asked] {
    return [end, &asked, next = std::int64_t{0}]() mutable {
      ++asked;
      return next < end ? std::optional(Number(next++)) : std::nullopt;
    };
  });
}

inline void WriteText(const std::string& path, std::string_view content) {
  std::ofstream(path, std::ios::binary) << content;
}

inline std::string ReadText(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace capstan
