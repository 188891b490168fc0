#include <algorithm>
#include <bit>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "checkpoint/tensor_file/safetensors.h"
#include "tensor/tensor.h"
#include "tensor/view.h"

namespace capstan {
namespace {

// Elements are read in their in-memory representation.
static_assert(std::endian::native == std::endian::little);

constexpr uint64_t kLengthBytes = sizeof(uint64_t);

absl::Status InFile(const absl::Status& status, std::string_view path) {
  return WithContext(
      status, absl::StrCat("read \"",
                           absl::string_view(path.data(), path.size()), "\""));
}

}  // namespace

const Tensor* Safetensors::Find(std::string_view name) const {
  const auto found = std::find(names.begin(), names.end(), name);
  return found == names.end()
             ? nullptr
             : &tensors[static_cast<size_t>(found - names.begin())];
}

absl::StatusOr<SafetensorsFile> SafetensorsFile::Open(const FileSystem& files,
                                                      std::string_view path) {
  auto opened = files.OpenForRead(path);
  CAPSTAN_RETURN_IF_ERROR(opened.status());
  return Open(*std::move(opened), path);
}

absl::StatusOr<SafetensorsFile> SafetensorsFile::Open(
    std::unique_ptr<ReadableFile> opened, std::string_view path,
    UnknownDTypes unknown) {
  SafetensorsFile file(std::string(path), std::move(opened));
  CAPSTAN_RETURN_IF_ERROR(InFile(file.ReadHeader(unknown), path));
  return file;
}

absl::Status SafetensorsFile::ReadHeader(UnknownDTypes unknown) {
  const absl::StatusOr<uint64_t> size = file_->Size();
  CAPSTAN_RETURN_IF_ERROR(size.status());
  if (*size < kLengthBytes) {
    return absl::DataLossError(
        absl::StrCat(*size, " bytes: not a safetensors file, or cut"));
  }
  uint64_t length = 0;
  CAPSTAN_RETURN_IF_ERROR(
      ReadAll(0, std::as_writable_bytes(std::span(&length, 1))));
  if (length > kMaxSafetensorsHeader) {
    return absl::ResourceExhaustedError(
        absl::StrCat("a header of ", length, " bytes, more than the limit of ",
                     kMaxSafetensorsHeader, ": not a safetensors file?"));
  }
  if (length > *size - kLengthBytes) {
    return absl::DataLossError(
        absl::StrCat("a header of ", length, " bytes in a file of ", *size,
                     ": not a safetensors file, or cut"));
  }
  std::string json(length, '\0');
  CAPSTAN_RETURN_IF_ERROR(
      ReadAll(kLengthBytes, std::as_writable_bytes(std::span(json))));
  absl::StatusOr<SafetensorsHeader> header =
      ParseSafetensorsJson(json, unknown);
  CAPSTAN_RETURN_IF_ERROR(header.status());
  header_ = *std::move(header);
  data_begin_ = kLengthBytes + length;
  return PlaceSafetensors(header_.entries, *size - data_begin_);
}

absl::StatusOr<Tensor> SafetensorsFile::Read(
    const SafetensorsEntry& entry) const {
  const auto fail = [&](const absl::Status& status) {
    return InFile(
        WithContext(status, absl::StrCat("tensor \"", entry.name, "\"")),
        path_);
  };
  absl::StatusOr<Tensor> tensor =
      AllocateTensor(entry.dtype, entry.shape, Fill::kNone);
  if (!tensor.ok()) return fail(tensor.status());
  absl::Status status =
      ReadPart(entry, 0, tensor->mutable_view().mutable_bytes());
  if (status.ok()) status = CheckValues(tensor->view(), entry.dtype);
  if (absl::IsInvalidArgument(status)) {
    status = absl::DataLossError(status.message());
  }
  if (!status.ok()) return fail(status);
  return tensor;
}

absl::Status SafetensorsFile::ReadPart(const SafetensorsEntry& entry,
                                       uint64_t offset,
                                       MutableBytes buffer) const {
  return ReadAll(data_begin_ + entry.begin + offset, buffer);
}

absl::Status SafetensorsFile::ReadAll(uint64_t offset,
                                      MutableBytes buffer) const {
  const absl::StatusOr<size_t> got = file_->ReadAt(offset, buffer);
  CAPSTAN_RETURN_IF_ERROR(got.status());
  if (*got == buffer.size()) return absl::OkStatus();
  return absl::DataLossError("the file became shorter while it was read");
}

absl::StatusOr<Safetensors> ReadSafetensors(const FileSystem& files,
                                            std::string_view path) {
  const absl::StatusOr<SafetensorsFile> file =
      SafetensorsFile::Open(files, path);
  CAPSTAN_RETURN_IF_ERROR(file.status());
  Safetensors result;
  result.metadata = file->header().metadata;
  for (const SafetensorsEntry& entry : file->header().entries) {
    absl::StatusOr<Tensor> tensor = file->Read(entry);
    CAPSTAN_RETURN_IF_ERROR(tensor.status());
    result.names.push_back(entry.name);
    result.tensors.push_back(*std::move(tensor));
  }
  return result;
}

}  // namespace capstan
