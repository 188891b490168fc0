#include "optimizer/updater.h"

#include <variant>

#include "optimizer/kernel_updater.h"
#include "optimizer/validate.h"

namespace capstan {

absl::StatusOr<std::unique_ptr<const Updater>> Updater::Make(
    const Optimizer& optimizer) {
  CAPSTAN_RETURN_IF_ERROR(Validate(optimizer));
  return std::visit(
      [&](const auto& rule) { return MakeUpdater(rule, optimizer); },
      optimizer.rule);
}

}  // namespace capstan
