#include <algorithm>
#include <bit>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/checked_math.h"
#include "base/status.h"
#include "checkpoint/tensor_file/safetensors.h"

namespace capstan {
namespace {

// Elements are written in their in-memory representation.
static_assert(std::endian::native == std::endian::little);

absl::Status CheckTensor(const NamedTensor& tensor,
                         std::set<std::string_view>& names) {
  const auto refuse = [&](absl::string_view why) {
    return absl::InvalidArgumentError(
        absl::StrCat("tensor \"", tensor.name, "\": ", why));
  };
  if (tensor.name.empty()) return refuse("it needs a name");
  if (tensor.name == kSafetensorsMetadata) return refuse("a reserved name");
  if (!names.insert(tensor.name).second) return refuse("it is there twice");
  if (tensor.view.dtype() != DType::kBool) return absl::OkStatus();
  const std::span<const std::byte> bytes = tensor.view.bytes();
  if (std::all_of(bytes.begin(), bytes.end(),
                  [](std::byte b) { return b <= std::byte{1}; })) {
    return absl::OkStatus();
  }
  return refuse("a bool that is neither 0 nor 1");
}

// The tensors in the order of the file.
std::vector<const NamedTensor*> InOrder(std::span<const NamedTensor> tensors) {
  std::vector<const NamedTensor*> order;
  for (const NamedTensor& tensor : tensors) order.push_back(&tensor);
  std::stable_sort(order.begin(), order.end(),
                   [](const NamedTensor* a, const NamedTensor* b) {
                     return SizeOf(a->view.dtype()) > SizeOf(b->view.dtype());
                   });
  return order;
}

absl::StatusOr<std::string> MakeHeader(
    const std::vector<const NamedTensor*>& order,
    const std::map<std::string, std::string>& metadata) {
  SafetensorsHeader header;
  header.metadata = metadata;
  uint64_t begin = 0;
  for (const NamedTensor* tensor : order) {
    const std::optional<uint64_t> end =
        CheckedAdd(begin, tensor->view.bytes().size());
    if (!end) {
      // Only possible if views share memory: no machine has that much.
      return absl::ResourceExhaustedError("more than 2^64 bytes of tensors");
    }
    header.entries.push_back({.name = tensor->name,
                              .dtype = tensor->view.dtype(),
                              .shape = tensor->view.shape(),
                              .begin = begin,
                              .end = *end});
    begin = *end;
  }
  return EncodeSafetensorsHeader(header);
}

absl::Status WriteNew(FileSystem& files, const std::string& path,
                      const std::string& header,
                      const std::vector<const NamedTensor*>& order) {
  auto file = files.CreateForWrite(path, IfExists::kTruncate);
  CAPSTAN_RETURN_IF_ERROR(file.status());
  CAPSTAN_RETURN_IF_ERROR((*file)->Append(AsBytes(header)));
  for (const NamedTensor* tensor : order) {
    CAPSTAN_RETURN_IF_ERROR(
        WithContext((*file)->Append(tensor->view.bytes()),
                    absl::StrCat("tensor \"", tensor->name, "\"")));
  }
  CAPSTAN_RETURN_IF_ERROR((*file)->Sync());
  return (*file)->Close();
}

absl::Status Write(FileSystem& files, std::string_view path,
                   std::span<const NamedTensor> tensors,
                   const std::map<std::string, std::string>& metadata) {
  std::set<std::string_view> names;
  for (const NamedTensor& tensor : tensors) {
    CAPSTAN_RETURN_IF_ERROR(CheckTensor(tensor, names));
  }
  const std::vector<const NamedTensor*> order = InOrder(tensors);
  const absl::StatusOr<std::string> header = MakeHeader(order, metadata);
  CAPSTAN_RETURN_IF_ERROR(header.status());
  const std::string temporary = std::string(path) + ".tmp";
  absl::Status status = WriteNew(files, temporary, *header, order);
  if (status.ok()) status = files.Rename(temporary, path);
  if (!status.ok()) {
    // The first error is the one to report.
    (void)files.Remove(temporary);
    return status;
  }
  return files.SyncDir(DirectoryOf(path));
}

}  // namespace

absl::Status WriteSafetensors(
    FileSystem& files, std::string_view path,
    std::span<const NamedTensor> tensors,
    const std::map<std::string, std::string>& metadata) {
  return WithContext(
      Write(files, path, tensors, metadata),
      absl::StrCat("write \"", absl::string_view(path.data(), path.size()),
                   "\""));
}

}  // namespace capstan
