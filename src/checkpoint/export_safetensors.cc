#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/checked_math.h"
#include "base/status.h"
#include "checkpoint/export.h"
#include "checkpoint/tensor_file/hex_text.h"
#include "checkpoint/tensor_file/safetensors_header.h"
#include "checkpoint/tensor_file/write_replacing.h"
#include "checkpoint/variable_stream.h"

namespace capstan {
namespace {

constexpr size_t kExportPieceBytes = size_t{1} << 20;

absl::StatusOr<std::string> MakeHeader(
    const Manifest& manifest, const std::vector<ExportedTensor>& tensors) {
  SafetensorsHeader header;
  header.metadata = {{"capstan_version", manifest.capstan_version},
                     {"save_id", Hex64(manifest.save_id)},
                     {"step", absl::StrCat(manifest.step)}};
  uint64_t begin = 0;
  for (const ExportedTensor& tensor : tensors) {
    const Shape& shape = tensor.variable->shape;
    const auto end = CheckedAdd(begin, ByteSize(tensor.dtype, shape));
    if (!end) {
      return absl::ResourceExhaustedError("more than 2^64 bytes of tensors");
    }
    header.entries.push_back({.name = tensor.name,
                              .dtype = tensor.dtype,
                              .shape = shape,
                              .begin = begin,
                              .end = *end});
    begin = *end;
  }
  return EncodeSafetensorsHeader(header);
}

}  // namespace

absl::Status ExportSafetensors(const FileSystem& from,
                               std::string_view checkpoint_path,
                               const Manifest& manifest, FileSystem& to,
                               std::string_view file,
                               const ExportOptions& options) {
  absl::StatusOr<std::vector<ExportedTensor>> tensors =
      ListExported(manifest, options);
  CAPSTAN_RETURN_IF_ERROR(tensors.status());
  // Wider elements first, so that all are aligned.
  std::stable_sort(tensors->begin(), tensors->end(),
                   [](const ExportedTensor& a, const ExportedTensor& b) {
                     return SizeOf(a.dtype) > SizeOf(b.dtype);
                   });
  const absl::StatusOr<std::string> header = MakeHeader(manifest, *tensors);
  CAPSTAN_RETURN_IF_ERROR(header.status());
  const absl::StatusOr<OpenFiles> files =
      OpenFiles::Open(from, checkpoint_path, manifest);
  CAPSTAN_RETURN_IF_ERROR(files.status());
  std::vector<std::byte> piece(kExportPieceBytes);
  return WriteReplacing(to, file, [&](WritableFile& out) -> absl::Status {
    CAPSTAN_RETURN_IF_ERROR(out.Append(AsBytes(*header)));
    for (const ExportedTensor& tensor : *tensors) {
      CAPSTAN_RETURN_IF_ERROR(
          ReadStream(VariableStream(*files, *tensor.variable, tensor.slot),
                     piece, [&](Bytes data) { return out.Append(data); }));
    }
    return absl::OkStatus();
  });
}

}  // namespace capstan
