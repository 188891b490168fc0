#include <set>

#include "absl/strings/str_cat.h"
#include "checkpoint/export.h"
#include "checkpoint/tensor_file/safetensors_header.h"

namespace capstan {

absl::StatusOr<std::vector<ExportedTensor>> ListExported(
    const Manifest& manifest, const ExportOptions& options) {
  std::vector<ExportedTensor> tensors;
  for (const SavedVariable& variable : manifest.variables) {
    tensors.push_back({.name = variable.name,
                       .variable = &variable,
                       .slot = "",
                       .dtype = variable.dtype});
    if (!options.slots) continue;
    for (const std::string& slot : variable.slots) {
      tensors.push_back({.name = absl::StrCat(variable.name, ".", slot),
                         .variable = &variable,
                         .slot = slot,
                         .dtype = DType::kF32});
    }
  }
  std::set<std::string_view> names = {kSafetensorsMetadata};
  for (const ExportedTensor& tensor : tensors) {
    if (!names.insert(tensor.name).second) {
      return absl::InvalidArgumentError(
          absl::StrCat("two tensors would be called \"", tensor.name,
                       "\", or it is a reserved name: export without slots"));
    }
  }
  return tensors;
}

}  // namespace capstan
