#include "checkpoint/tensor_file/tensor_file.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/cat.h"
#include "base/error.h"
#include "base/status.h"
#include "checkpoint/tensor_file/shown_text.h"

namespace capstan {
namespace {

absl::Status CheckBools(Bytes piece) {
  if (std::all_of(piece.begin(), piece.end(),
                  [](std::byte b) { return b <= std::byte{1}; })) {
    return absl::OkStatus();
  }
  return absl::DataLossError("a bool that is neither 0 nor 1");
}

}  // namespace

TensorFile::TensorFile(std::string_view path, std::vector<FileTensor> tensors)
    : path_(path), tensors_(std::move(tensors)) {
  for (const FileTensor& tensor : tensors_) {
    index_.emplace(tensor.name, index_.size());
  }
}

const FileTensor* TensorFile::Find(std::string_view tensor) const {
  const auto found = index_.find(tensor);
  return found == index_.end() ? nullptr : &tensors_[found->second];
}

absl::Status TensorFile::Read(std::string_view tensor, const Take& take) const {
  const auto found = index_.find(tensor);
  absl::Status status;
  if (found == index_.end()) {
    status = absl::NotFoundError("the file does not have it");
  } else if (const FileTensor& one = tensors_[found->second];
             !one.unreadable.empty()) {
    status = absl::InvalidArgumentError(one.unreadable);
  } else {
    const bool bools = one.dtype == DType::kBool;
    status = ReadTensor(found->second,
                        [&](uint64_t offset, Bytes piece) -> absl::Status {
                          if (bools) CAPSTAN_RETURN_IF_ERROR(CheckBools(piece));
                          return take(offset, piece);
                        });
  }
  return WithContext(
      status, absl::StrCat("read \"", path_, "\": tensor ", Shown(tensor)));
}

absl::StatusOr<TensorFormat> TensorFormatOf(std::string_view path) {
  if (path.ends_with(".safetensors")) return TensorFormat::kSafetensors;
  if (path.ends_with(".npz")) return TensorFormat::kNpz;
  return absl::InvalidArgumentError(
      absl::StrCat("'", ToAbsl(path),
                   "': the name of a file of tensors ends in .safetensors or "
                   ".npz"));
}

absl::StatusOr<std::unique_ptr<TensorFile>> OpenTensorFile(
    std::unique_ptr<ReadableFile> file, std::string_view path,
    TensorFormat format) {
  try {
    return format == TensorFormat::kNpz
               ? OpenNpz(std::move(file), path)
               : OpenSafetensors(std::move(file), path);
  } catch (const std::exception&) {
    // There may not be enough memory for the list of tensors.
    return WithContext(StatusOfCurrentException(),
                       absl::StrCat("read \"", ToAbsl(path), "\""));
  }
}

}  // namespace capstan
