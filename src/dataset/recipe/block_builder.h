// Fills a Block row by row, without allocating for each row.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include "dataset/recipe/block.h"

namespace capstan {

// Not thread-safe. A row is written column by column, into Fixed() or with
// Append(), and counts once EndRow() is called; AbandonRow() discards it.
class BlockBuilder {
 public:
  // For at most `capacity` rows. Throws kResourceExhausted.
  BlockBuilder(std::shared_ptr<const Layout> layout, std::int64_t capacity);

  std::int64_t rows() const { return rows_; }
  // No room for another row: there are `capacity` rows or, as ragged columns
  // may have any length, the bytes that a block should not exceed by much.
  bool full() const { return rows_ == capacity_ || ragged_bytes_ >= kEnough; }

  // Where to write the row's value of a column that is not ragged.
  std::byte* Fixed(std::size_t column) {
    const Storage& storage = storage_[column];
    return storage.fixed + static_cast<std::size_t>(rows_) * storage.row_bytes;
  }

  // Adds elements to the row's value of a ragged column.
  void Append(std::size_t column, const void* elements, std::size_t bytes) {
    std::vector<std::byte>& ragged = storage_[column].ragged;
    const std::size_t size = ragged.size();
    ragged.resize(size + bytes);
    if (bytes > 0) std::memcpy(ragged.data() + size, elements, bytes);
  }

  void EndRow();
  void AbandonRow();

  // Returns the rows so far. The builder must not be used any more.
  std::shared_ptr<const Block> Finish();

 private:
  static constexpr std::size_t kEnough = std::size_t{1} << 20;

  struct Storage {
    std::shared_ptr<void> memory;
    std::byte* fixed = nullptr;
    std::size_t row_bytes = 0;
    std::vector<std::byte> ragged;
    std::vector<std::int64_t> offsets;  // in elements; of ragged columns
  };

  const std::shared_ptr<const Layout> layout_;
  const std::int64_t capacity_;
  std::vector<Storage> storage_;
  std::vector<std::size_t> ragged_;  // indices of the ragged columns
  std::int64_t rows_ = 0;
  std::size_t ragged_bytes_ = 0;
};

}  // namespace capstan
