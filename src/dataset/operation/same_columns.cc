#include "dataset/operation/same_columns.h"

#include "base/cat.h"
#include "capstan/error.h"
#include "dataset/recipe/quote_text.h"

namespace capstan {

void CheckSameColumns(const std::vector<Run>& runs) {
  const Layout* const first = runs.front().block->layout.get();
  const Layout* good = first;
  for (const Run& run : runs) {
    const Layout* const layout = run.block->layout.get();
    if (layout == first || layout == good) continue;
    for (const Field& field : *first) {
      if (FindField(*layout, field.name) < 0) {
        throw Error(ErrorCode::kInvalidArgument,
                    Cat("a batch needs elements of the same names: "
                        "one has no ",
                        QuoteText(field.name), ", the first has"));
      }
    }
    if (layout->size() != first->size()) {
      throw Error(ErrorCode::kInvalidArgument,
                  Cat("a batch needs elements of the same names: one "
                      "has ",
                      layout->size(), ", the first ", first->size()));
    }
    good = layout;
  }
}

std::size_t ColumnOf(const Layout& layout, const Layout& first,
                     std::size_t column, const std::string& name) {
  if (&layout == &first || layout[column].name == name) return column;
  return static_cast<std::size_t>(FindField(layout, name));
}

}  // namespace capstan
