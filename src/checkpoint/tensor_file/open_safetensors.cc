#include <algorithm>
#include <utility>

#include "base/status.h"
#include "checkpoint/tensor_file/safetensors.h"
#include "checkpoint/tensor_file/tensor_file.h"

namespace capstan {
namespace {

constexpr uint64_t kSafetensorsReadBytes = uint64_t{1} << 20;

std::vector<FileTensor> TensorsOf(const SafetensorsHeader& header) {
  std::vector<FileTensor> tensors;
  for (const SafetensorsEntry& entry : header.entries) {
    tensors.push_back({entry.name, entry.dtype, entry.shape, entry.unreadable});
  }
  return tensors;
}

class SafetensorsPieces final : public TensorFile {
 public:
  SafetensorsPieces(SafetensorsFile file, std::string_view path)
      : TensorFile(path, TensorsOf(file.header())), file_(std::move(file)) {}

 private:
  absl::Status ReadTensor(size_t index, const Take& take) const override {
    const SafetensorsEntry& entry = file_.header().entries[index];
    const uint64_t size = entry.end - entry.begin;
    std::vector<std::byte> buffer(
        static_cast<size_t>(std::min(size, kSafetensorsReadBytes)));
    for (uint64_t offset = 0; offset < size;) {
      const MutableBytes piece = MutableBytes(buffer).first(static_cast<size_t>(
          std::min<uint64_t>(buffer.size(), size - offset)));
      CAPSTAN_RETURN_IF_ERROR(file_.ReadPart(entry, offset, piece));
      CAPSTAN_RETURN_IF_ERROR(take(offset, piece));
      offset += piece.size();
    }
    return absl::OkStatus();
  }

  const SafetensorsFile file_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<TensorFile>> OpenSafetensors(
    std::unique_ptr<ReadableFile> file, std::string_view path) {
  absl::StatusOr<SafetensorsFile> opened =
      SafetensorsFile::Open(std::move(file), path, UnknownDTypes::kKeep);
  CAPSTAN_RETURN_IF_ERROR(opened.status());
  return std::make_unique<SafetensorsPieces>(*std::move(opened), path);
}

}  // namespace capstan
