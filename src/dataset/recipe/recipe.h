// What a Dataset is made of. Each operation is a Recipe, which can be read in
// order (a Cursor) and by number (a Table). All pass on Runs, rows of a Block,
// so that a whole stretch costs no more than one row.
//
// Errors are thrown, because the functions that users supply throw them too.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "dataset/recipe/block.h"

namespace capstan {

// One reading of a recipe. For one thread at a time. Its destructor stops the
// threads that it has started.
class Cursor {
 public:
  virtual ~Cursor() = default;

  // The next elements, at least one and at most `max`, which is at least 1; or
  // none at the end, and on every call after that. When it throws, it can be
  // called again, and returns what follows.
  virtual Run Next(std::int64_t max) = 0;
};

// What the order of a shuffled table depends on.
struct Order {
  std::uint64_t epoch = 0;  // the iteration
  std::uint64_t seed = 0;   // for shuffles without their own
};

// Reads a recipe by number. Thread-safe.
class Table {
 public:
  virtual ~Table() = default;

  virtual std::int64_t size() const = 0;

  // As ExampleTable's.
  virtual std::string Describe() const = 0;

  // Appends the elements of these numbers, which are below size(), in the order
  // given.
  virtual void Read(std::span<const std::int64_t> indices, const Order& order,
                    std::vector<Run>& out) const = 0;
};

// Which reading of a dataset it is, and whether it is still wanted.
struct Iteration {
  std::uint64_t epoch = 0;
  // For shuffles without their own. If not set, they draw one.
  std::optional<std::uint64_t> seed = {};
  std::stop_token stop = {};

  // Throws kCancelled if not. For loops that may run for long without returning
  // anything.
  void ThrowIfStopped() const;
};

// Immutable, except for what it reads once and keeps. Thread-safe.
class Recipe {
 public:
  virtual ~Recipe() = default;

  // Begins an iteration. The recipe must outlive its cursors and
  // tables.
  virtual std::unique_ptr<Cursor> Open(const Iteration& iteration) const = 0;

  // Throws kFailedPrecondition if the recipe cannot be read by number.
  virtual std::shared_ptr<const Table> OpenTable() const = 0;

  // As Dataset's.
  virtual std::optional<std::int64_t> Cardinality() const = 0;

  // The number of an iteration opened without one.
  std::uint64_t NextEpoch() const { return epochs_.fetch_add(1); }

 private:
  mutable std::atomic<std::uint64_t> epochs_ = 0;
};

using RecipePtr = std::shared_ptr<const Recipe>;

// Throws kFailedPrecondition: `operation` cannot be read by number.
[[noreturn]] void ThrowNoTable(std::string_view operation,
                               std::string_view reason);

// Throws kInvalidArgument: "Take(-1): must be at least 0".
void CheckAtLeast(std::string_view operation, std::int64_t value,
                  std::int64_t least);

}  // namespace capstan
