// The variables of the closures workload, and what a closure does to them: as
// in digit_variables.h, but as a program sees them, by name and as tensors.
//
// Table t has a vector "dense<t>", updated as a whole, and "rows<t>", updated
// by rows. Closure n uses table n mod tables, and has slot n / tables in it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "capstan/tensor.h"
#include "capstan/variable.h"
#include "simulate/closures/closure_options.h"
#include "simulate/digits/digit_code.h"
#include "simulate/digits/digit_variables.h"

namespace capstan::simulate {

// Immutable.
class ClosureVariables {
 public:
  explicit ClosureVariables(const ClosureOptions& options);

  std::vector<VariableSpec> Specs() const;
  std::string NameOf(DigitVariable variable, size_t table) const;
  size_t tables() const { return tables_; }
  size_t shards() const { return shards_; }

  size_t TableOf(size_t number) const { return number % tables_; }
  size_t SlotOf(size_t number) const { return number / tables_; }
  size_t NumberOf(size_t table, size_t slot) const {
    return slot * tables_ + table;
  }

  // The updates of closure `number`, in order. Every other closure updates both
  // variables in one.
  using Update = std::vector<VariableUpdate>;
  std::vector<Update> UpdatesOf(size_t number) const;
  // RowIds: all rows, last first. RowsInOrder: what was read by these ids, in
  // the table's order.
  std::vector<int64_t> RowIds() const;
  std::vector<float> RowsInOrder(const Tensor& read) const;

  // Decodes shard `shard` of a variable.
  Decoded Decode(std::span<const float> values, size_t shard) const;

 private:
  const UpdateMode mode_;
  const size_t tables_;
  const size_t shards_;
  const size_t elements_;  // of a shard
};

}  // namespace capstan::simulate
