#include "variable/stored_bytes.h"

#include "optimizer/updater.h"

namespace capstan {

uint64_t StoredRowBytes(const VariableSpec& spec) {
  uint64_t copies = 1;
  if (spec.optimizer.has_value()) {
    const auto updater = Updater::Make(*spec.optimizer);
    if (updater.ok()) copies += (*updater)->slots().size();
  }
  return SaturatingMultiply(
      static_cast<uint64_t>(spec.shape.row_elements()) * SizeOf(spec.dtype),
      copies);
}

}  // namespace capstan
