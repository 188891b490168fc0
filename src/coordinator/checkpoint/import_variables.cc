#include "coordinator/checkpoint/import_variables.h"

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/random.h"
#include "checkpoint/tensor_file/convert_floats.h"
#include "coordinator/checkpoint/plan_import.h"
#include "coordinator/checkpoint/replace_values.h"
#include "dataset/format/input_file.h"

namespace capstan {

absl::StatusOr<RestoreReport> ImportFrom(
    CoordinatorMaker::Impl& coordinator_impl, const TensorFile& file,
    const ImportOptions& options, const std::set<std::string>* names) {
  const std::lock_guard changing(coordinator_impl.changing);
  const ShardMap map = coordinator_impl.dispatcher.variables().map();
  absl::StatusOr<ImportPlan> plan =
      PlanImport(file.tensors(), map, options, names);
  CAPSTAN_RETURN_IF_ERROR(WithContext(plan.status(), file.path()));
  RestorePlan& restore = plan->restore;
  restore.report.name = file.path();
  if (restore.report.restored.empty()) return std::move(restore.report);
  const ConvertedTensors converted(file, std::move(plan->conversions));
  std::vector<const RestoreCopy*> copies;
  for (const RestoreCopy& copy : restore.copies) copies.push_back(&copy);
  Random random = Random::FromOs();
  CAPSTAN_RETURN_IF_ERROR(
      ReplaceValues(coordinator_impl, restore, map.version(),
                    random.NextU64() | 1, [&](const StageTarget& target) {
                      return StageTensors(target, copies, converted);
                    }));
  return std::move(restore.report);
}

RestoreReport ImportVariables(const ClusterCoordinator& coordinator,
                              const std::string& file,
                              const ImportOptions& options) {
  const TensorFormat format = ValueOrThrow(TensorFormatOf(file));
  const std::unique_ptr<TensorFile> opened = ValueOrThrow(
      OpenTensorFile(ValueOrThrow(OpenInputFile(file)), file, format));
  return ValueOrThrow(ImportFrom(*CoordinatorMaker::ImplOf(coordinator),
                                 *opened, options, nullptr));
}

}  // namespace capstan
