#include <algorithm>
#include <bit>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/checked_math.h"
#include "base/crc32c.h"
#include "base/status.h"
#include "checkpoint/shard_file.h"
#include "checkpoint/tensor_file/combine_crc32c.h"
#include "checkpoint/tensor_file/hex_text.h"

namespace capstan {
namespace {

// Elements are written in their in-memory representation.
static_assert(std::endian::native == std::endian::little);

constexpr std::string_view kSaveId = "save_id";

bool WiderFirst(const FileTensor& a, const FileTensor& b) {
  return SizeOf(a.dtype) > SizeOf(b.dtype);
}

absl::Status WhileWriting(const absl::Status& status, std::string_view path) {
  return WithContext(
      status, absl::StrCat("write \"",
                           absl::string_view(path.data(), path.size()), "\""));
}

absl::Status CheckTensors(std::span<const FileTensor> tensors) {
  std::set<std::string_view> names;
  for (const FileTensor& tensor : tensors) {
    const auto refuse = [&](absl::string_view why) {
      return absl::InvalidArgumentError(
          absl::StrCat("tensor \"", tensor.name, "\": ", why));
    };
    if (tensor.name.empty()) return refuse("it needs a name");
    if (tensor.name == kSafetensorsMetadata) return refuse("a reserved name");
    if (!names.insert(tensor.name).second) return refuse("it is there twice");
  }
  if (std::is_sorted(tensors.begin(), tensors.end(), WiderFirst)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      "the tensors are not in the order of a file: call SortForFile");
}

absl::StatusOr<SafetensorsHeader> MakeHeader(
    uint64_t save_id, std::span<const FileTensor> tensors,
    const std::map<std::string, std::string>& metadata) {
  CAPSTAN_RETURN_IF_ERROR(CheckTensors(tensors));
  SafetensorsHeader header;
  header.metadata = metadata;
  if (!header.metadata.emplace(kSaveId, Hex64(save_id)).second) {
    return absl::InvalidArgumentError("the metadata has a save_id already");
  }
  uint64_t begin = 0;
  for (const FileTensor& tensor : tensors) {
    const std::optional<uint64_t> end =
        CheckedAdd(begin, ByteSize(tensor.dtype, tensor.shape));
    if (!end) {
      return absl::ResourceExhaustedError("more than 2^64 bytes of tensors");
    }
    header.entries.push_back({.name = tensor.name,
                              .dtype = tensor.dtype,
                              .shape = tensor.shape,
                              .begin = begin,
                              .end = *end});
    begin = *end;
  }
  return header;
}

}  // namespace

void SortForFile(std::vector<FileTensor>& tensors) {
  std::stable_sort(tensors.begin(), tensors.end(), WiderFirst);
}

absl::StatusOr<std::unique_ptr<ShardFileWriter>> ShardFileWriter::Create(
    FileSystem& files, std::string_view path, uint64_t save_id,
    std::span<const FileTensor> tensors,
    const std::map<std::string, std::string>& metadata) {
  const absl::StatusOr<SafetensorsHeader> header =
      MakeHeader(save_id, tensors, metadata);
  CAPSTAN_RETURN_IF_ERROR(WhileWriting(header.status(), path));
  const absl::StatusOr<std::string> text = EncodeSafetensorsHeader(*header);
  CAPSTAN_RETURN_IF_ERROR(WhileWriting(text.status(), path));
  auto writer = std::unique_ptr<ShardFileWriter>(new ShardFileWriter());
  writer->path_ = path;
  writer->written_.name = NameOf(path);
  for (const SafetensorsEntry& entry : header->entries) {
    writer->written_.tensors.push_back({.name = entry.name, .crc32c = 0});
    writer->sizes_.push_back(entry.end - entry.begin);
  }
  auto file = files.CreateForWrite(path, IfExists::kFail);
  CAPSTAN_RETURN_IF_ERROR(file.status());
  writer->file_ = *std::move(file);
  CAPSTAN_RETURN_IF_ERROR(writer->file_->Append(AsBytes(*text)));
  writer->written_.bytes = text->size();
  writer->written_.crc32c = Crc32c(AsBytes(*text));
  return writer;
}

absl::Status ShardFileWriter::Append(Bytes data) {
  if (data.empty()) return absl::OkStatus();
  uint64_t left = data.size();
  for (size_t i = current_; i < sizes_.size() && left > 0; ++i) {
    left -= std::min(left, sizes_[i] - (i == current_ ? done_ : 0));
  }
  if (left > 0) {
    return WhileWriting(absl::InvalidArgumentError(absl::StrCat(
                            left, " bytes more than the tensors have")),
                        path_);
  }
  CAPSTAN_RETURN_IF_ERROR(file_->Append(data));
  written_.bytes += data.size();
  while (!data.empty()) {
    if (done_ == sizes_[current_]) {
      ++current_;
      done_ = 0;
      continue;
    }
    const Bytes part = data.first(static_cast<size_t>(
        std::min<uint64_t>(data.size(), sizes_[current_] - done_)));
    const uint32_t crc = Crc32c(part);
    uint32_t& tensor = written_.tensors[current_].crc32c;
    tensor = CombineCrc32c(tensor, crc, part.size());
    written_.crc32c = CombineCrc32c(written_.crc32c, crc, part.size());
    done_ += part.size();
    data = data.subspan(part.size());
  }
  return absl::OkStatus();
}

absl::StatusOr<SavedFile> ShardFileWriter::Finish() {
  uint64_t missing = 0;
  for (size_t i = current_; i < sizes_.size(); ++i) {
    missing += sizes_[i] - (i == current_ ? done_ : 0);
  }
  if (missing > 0) {
    return WhileWriting(absl::FailedPreconditionError(absl::StrCat(
                            missing, " bytes of the tensors are missing")),
                        path_);
  }
  CAPSTAN_RETURN_IF_ERROR(file_->Sync());
  CAPSTAN_RETURN_IF_ERROR(file_->Close());
  return written_;
}

}  // namespace capstan
