#include "dataset/recipe/recipe.h"

#include "base/cat.h"
#include "capstan/error.h"

namespace capstan {

void ThrowNoTable(std::string_view operation, std::string_view reason) {
  throw Error(ErrorCode::kFailedPrecondition,
              Cat(operation, " cannot be read by number: ", reason,
                  "; leave it out, or give steps_per_epoch and read "
                  "the dataset in order"));
}

void Iteration::ThrowIfStopped() const {
  if (!stop.stop_requested()) return;
  throw Error(ErrorCode::kCancelled, "the reading of the dataset was ended");
}

void CheckAtLeast(std::string_view operation, std::int64_t value,
                  std::int64_t least) {
  if (value >= least) return;
  throw Error(ErrorCode::kInvalidArgument,
              Cat(operation, "(", value, "): must be at least ", least));
}

}  // namespace capstan
