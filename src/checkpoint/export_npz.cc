#include <cstring>
#include <span>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "checkpoint/export.h"
#include "checkpoint/tensor_file/crc32_zip.h"
#include "checkpoint/tensor_file/write_replacing.h"
#include "checkpoint/tensor_file/zip_writer.h"
#include "checkpoint/variable_stream.h"
#include "tensor/npy_header.h"

namespace capstan {
namespace {

constexpr size_t kNpzPieceBytes = size_t{1} << 20;

// The dtype used for numpy, which has no bf16.
DType NumpyType(DType dtype) {
  return dtype == DType::kBF16 ? DType::kF32 : dtype;
}

// Reads the tensor in numpy's dtype, piece by piece.
absl::Status ReadForNumpy(const OpenFiles& files, const ExportedTensor& tensor,
                          std::span<std::byte> piece,
                          const std::function<absl::Status(Bytes)>& take) {
  VariableStream stream(files, *tensor.variable, tensor.slot);
  if (tensor.dtype != DType::kBF16) return ReadStream(stream, piece, take);
  std::vector<float> wide(kNpzPieceBytes / sizeof(BFloat16));
  return ReadStream(stream, piece, [&](Bytes data) {
    const size_t count = data.size() / sizeof(BFloat16);
    for (size_t i = 0; i < count; ++i) {
      BFloat16 value;
      std::memcpy(&value.bits, data.data() + i * sizeof(value), sizeof(value));
      wide[i] = static_cast<float>(value);
    }
    return take(std::as_bytes(std::span(wide).first(count)));
  });
}

}  // namespace

absl::Status ExportNpz(const FileSystem& from, std::string_view checkpoint_path,
                       const Manifest& manifest, FileSystem& to,
                       std::string_view file, const ExportOptions& options) {
  const absl::StatusOr<std::vector<ExportedTensor>> tensors =
      ListExported(manifest, options);
  CAPSTAN_RETURN_IF_ERROR(tensors.status());
  const absl::StatusOr<OpenFiles> files =
      OpenFiles::Open(from, checkpoint_path, manifest);
  CAPSTAN_RETURN_IF_ERROR(files.status());
  std::vector<std::byte> piece(kNpzPieceBytes);
  return WriteReplacing(to, file, [&](WritableFile& out) -> absl::Status {
    ZipWriter zip(out);
    for (const ExportedTensor& tensor : *tensors) {
      const std::string header =
          EncodeNpyHeader(NumpyType(tensor.dtype), tensor.variable->shape);
      uint64_t bytes = header.size();
      uint32_t crc = ExtendZipCrc32(0, AsBytes(header));
      CAPSTAN_RETURN_IF_ERROR(
          ReadForNumpy(*files, tensor, piece, [&](Bytes data) {
            bytes += data.size();
            crc = ExtendZipCrc32(crc, data);
            return absl::OkStatus();
          }));
      CAPSTAN_RETURN_IF_ERROR(
          zip.Begin(absl::StrCat(tensor.name, ".npy"), bytes, crc));
      CAPSTAN_RETURN_IF_ERROR(zip.Append(AsBytes(header)));
      CAPSTAN_RETURN_IF_ERROR(ReadForNumpy(
          *files, tensor, piece, [&](Bytes data) { return zip.Append(data); }));
    }
    return zip.Finish();
  });
}

}  // namespace capstan
