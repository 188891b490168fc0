#include <utility>

#include "capstan/error.h"
#include "dataset/operation/operations.h"

namespace capstan {
namespace {

class GeneratorCursor final : public Cursor {
 public:
  explicit GeneratorCursor(const std::function<Dataset::Source()>& make)
      : make_(make) {}

  Run Next(std::int64_t /*max*/) override {
    if (ended_) return {};
    if (!next_) {
      next_ = make_();
      if (!next_) {
        throw Error(ErrorCode::kInvalidArgument,
                    "FromGenerator: the function returned an empty one");
      }
    }
    const std::optional<Example> element = next_();
    if (!element) {
      ended_ = true;
      next_ = nullptr;
      return {};
    }
    return {element->block(), element->row(), element->row() + 1};
  }

 private:
  const std::function<Dataset::Source()>& make_;
  Dataset::Source next_;
  bool ended_ = false;
};

class GeneratorSource final : public Recipe {
 public:
  explicit GeneratorSource(std::function<Dataset::Source()> make)
      : make_(std::move(make)) {}

  std::unique_ptr<Cursor> Open(const Iteration& /*iteration*/) const override {
    return std::make_unique<GeneratorCursor>(make_);
  }
  std::shared_ptr<const Table> OpenTable() const override {
    ThrowNoTable("FromGenerator", "a generator gives one after the other");
  }
  std::optional<std::int64_t> Cardinality() const override {
    return std::nullopt;
  }

 private:
  const std::function<Dataset::Source()> make_;
};

}  // namespace

RecipePtr MakeGenerator(std::function<Dataset::Source()> make) {
  if (!make) {
    throw Error(ErrorCode::kInvalidArgument,
                "FromGenerator: the function is empty");
  }
  return std::make_shared<GeneratorSource>(std::move(make));
}

}  // namespace capstan
