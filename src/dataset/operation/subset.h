// A table of some of the elements of another: element i is number at(i) there.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/cat.h"
#include "dataset/recipe/recipe.h"

namespace capstan {

template <typename At>
class Subset final : public Table {
 public:
  Subset(std::shared_ptr<const Table> input, std::string operation,
         std::int64_t size, At at)
      : input_(std::move(input)),
        operation_(std::move(operation)),
        size_(size),
        at_(std::move(at)) {}

  std::int64_t size() const override { return size_; }
  std::string Describe() const override {
    return Cat(input_->Describe(), ".", operation_);
  }

  void Read(std::span<const std::int64_t> indices, const Order& order,
            std::vector<Run>& out) const override {
    std::vector<std::int64_t> there(indices.begin(), indices.end());
    for (std::int64_t& index : there) index = at_(index, order);
    input_->Read(there, order, out);
  }

 private:
  const std::shared_ptr<const Table> input_;
  const std::string operation_;
  const std::int64_t size_;
  const At at_;
};

// `operation` describes the subset: "Take(10)".
template <typename At>
std::shared_ptr<const Table> MakeSubset(std::shared_ptr<const Table> input,
                                        std::string operation,
                                        std::int64_t size, At at) {
  return std::make_shared<Subset<At>>(std::move(input), std::move(operation),
                                      size, std::move(at));
}

}  // namespace capstan
