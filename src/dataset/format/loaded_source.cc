#include "dataset/format/loaded_source.h"

#include <algorithm>
#include <mutex>
#include <utility>

#include "dataset/format/block_source.h"
#include "dataset/recipe/only_errors.h"

namespace capstan {
namespace {

class LoadedSource final : public Recipe {
 public:
  LoadedSource(std::string path,
               std::function<std::shared_ptr<const Block>()> load,
               std::function<std::int64_t()> count)
      : path_(std::move(path)),
        load_(std::move(load)),
        count_(std::move(count)) {}

  std::unique_ptr<Cursor> Open(const Iteration& /*iteration*/) const override;
  std::shared_ptr<const Table> OpenTable() const override {
    return OpenBlockTable(Get());
  }
  std::optional<std::int64_t> Cardinality() const override {
    const std::lock_guard lock(mutex_);
    return rows_ == nullptr ? OnlyErrors(path_, count_) : rows_->rows;
  }

  std::shared_ptr<const Block> Get() const {
    const std::lock_guard lock(mutex_);
    if (rows_ == nullptr) rows_ = OnlyErrors(path_, load_);
    return rows_;
  }

 private:
  const std::string path_;  // for messages
  const std::function<std::shared_ptr<const Block>()> load_;
  const std::function<std::int64_t()> count_;

  mutable std::mutex mutex_;
  mutable std::shared_ptr<const Block> rows_;  // guarded by mutex_
};

// Loads at the first Next, because that is where errors are expected.
class LoadedCursor final : public Cursor {
 public:
  explicit LoadedCursor(const LoadedSource& source) : source_(source) {}

  Run Next(std::int64_t max) override {
    if (cursor_ == nullptr) cursor_ = OpenBlock(source_.Get());
    return cursor_->Next(max);
  }

 private:
  const LoadedSource& source_;
  std::unique_ptr<Cursor> cursor_;
};

std::unique_ptr<Cursor> LoadedSource::Open(const Iteration&) const {
  return std::make_unique<LoadedCursor>(*this);
}

}  // namespace

RecipePtr MakeLoaded(std::string path,
                     std::function<std::shared_ptr<const Block>()> load,
                     std::function<std::int64_t()> count) {
  return std::make_shared<LoadedSource>(std::move(path), std::move(load),
                                        std::move(count));
}

}  // namespace capstan
