#include <string>
#include <utility>

#include "base/cat.h"
#include "capstan/dataset.h"
#include "dataset/recipe/block.h"
#include "dataset/recipe/quote_text.h"

namespace capstan {

Example::Example() : Example(Columns()) {}

Example::Example(std::initializer_list<std::pair<std::string, Tensor>> columns)
    : Example(Columns(columns)) {}

Example::Example(const Columns& columns) : block_(OneRow(columns)), row_(0) {}

Example::Example(std::shared_ptr<const Block> block, std::int64_t row) noexcept
    : block_(std::move(block)), row_(row) {}

Tensor Example::operator[](std::string_view name) const {
  const int column = FindField(*block_->layout, name);
  if (column < 0) {
    throw Error(ErrorCode::kNotFound,
                Cat("no tensor ", QuoteText(name),
                    " in an example of: ", QuoteNames(names())));
  }
  return TensorAt(*block_, static_cast<std::size_t>(column), row_);
}

bool Example::Contains(std::string_view name) const noexcept {
  return FindField(*block_->layout, name) >= 0;
}

std::size_t Example::size() const noexcept { return block_->layout->size(); }

std::vector<std::string> Example::names() const {
  std::vector<std::string> names;
  names.reserve(size());
  for (const Field& field : *block_->layout) names.push_back(field.name);
  return names;
}

bool operator==(const Example& a, const Example& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if ((*a.block_->layout)[i].name != (*b.block_->layout)[i].name ||
        TensorAt(*a.block_, i, a.row_) != TensorAt(*b.block_, i, b.row_)) {
      return false;
    }
  }
  return true;
}

}  // namespace capstan
