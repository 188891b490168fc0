#include "dataset/recipe/block_builder.h"

#include <utility>

#include "capstan/tensor.h"

namespace capstan {

BlockBuilder::BlockBuilder(std::shared_ptr<const Layout> layout,
                           std::int64_t capacity)
    : layout_(std::move(layout)),
      capacity_(capacity),
      storage_(layout_->size()) {
  for (std::size_t i = 0; i < layout_->size(); ++i) {
    const Field& field = (*layout_)[i];
    Storage& storage = storage_[i];
    if (field.ragged) {
      ragged_.push_back(i);
      storage.offsets.push_back(0);
      continue;
    }
    std::vector<std::int64_t> dims = {capacity_};
    dims.insert(dims.end(), field.shape.dims().begin(),
                field.shape.dims().end());
    storage.memory =
        Tensor::Uninitialized(field.dtype,
                              Shape(std::span<const std::int64_t>(dims)))
            .memory();
    storage.fixed = static_cast<std::byte*>(storage.memory.get());
    storage.row_bytes = ByteSize(field.dtype, field.shape);
  }
}

void BlockBuilder::EndRow() {
  ++rows_;
  for (const std::size_t i : ragged_) {
    Storage& storage = storage_[i];
    const std::size_t element = SizeOf((*layout_)[i].dtype);
    const auto end = static_cast<std::int64_t>(storage.ragged.size() / element);
    ragged_bytes_ +=
        static_cast<std::size_t>(end - storage.offsets.back()) * element;
    storage.offsets.push_back(end);
  }
}

void BlockBuilder::AbandonRow() {
  for (const std::size_t i : ragged_) {
    Storage& storage = storage_[i];
    storage.ragged.resize(static_cast<std::size_t>(storage.offsets.back()) *
                          SizeOf((*layout_)[i].dtype));
  }
}

std::shared_ptr<const Block> BlockBuilder::Finish() {
  auto block = std::make_shared<Block>();
  block->layout = layout_;
  block->rows = rows_;
  block->offsets.reserve(ragged_.size());
  for (std::size_t i = 0; i < storage_.size(); ++i) {
    Storage& storage = storage_[i];
    ColumnData column;
    if ((*layout_)[i].ragged) {
      auto owner =
          std::make_shared<std::vector<std::byte>>(std::move(storage.ragged));
      column.data = owner->data();
      column.memory = std::move(owner);
      block->offsets.push_back(std::move(storage.offsets));
      column.offsets = block->offsets.back().data();
    } else {
      column.memory = std::move(storage.memory);
      column.data = storage.fixed;
      column.row_bytes = storage.row_bytes;
    }
    block->columns.push_back(std::move(column));
  }
  return block;
}

}  // namespace capstan
