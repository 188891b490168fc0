// A file of named tensors that anyone may have written, read piece by piece.
//
// Functions block. Errors name the file, and the tensor if they concern one.
// Inconsistent content is DataLoss; InvalidArgument is for what Capstan does
// not support. A tensor of an unsupported dtype is listed, and only reading it
// fails.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "base/file/file_system.h"
#include "checkpoint/tensor_file/tensor_source.h"

namespace capstan {

class TensorFile : public TensorSource {
 public:
  // The name used in errors.
  const std::string& path() const { return path_; }
  // Each name occurs once.
  const std::vector<FileTensor>& tensors() const { return tensors_; }
  // Null if there is none. Valid as long as this object.
  const FileTensor* Find(std::string_view tensor) const;

  // NotFound if there is no such tensor, InvalidArgument if it is unreadable.
  absl::Status Read(std::string_view tensor, const Take& take) const final;

 protected:
  TensorFile(std::string_view path, std::vector<FileTensor> tensors);

  // Like Read, of tensors()[index], but errors have no context and bools are
  // not checked.
  virtual absl::Status ReadTensor(size_t index, const Take& take) const = 0;

 private:
  const std::string path_;
  const std::vector<FileTensor> tensors_;
  std::map<std::string_view, size_t> index_;  // of the tensors, by name
};

enum class TensorFormat { kSafetensors, kNpz };

// Chosen by the suffix, .safetensors or .npz. InvalidArgument for any other.
absl::StatusOr<TensorFormat> TensorFormatOf(std::string_view path);

// Reads which tensors `file` has; errors call it `path`.
absl::StatusOr<std::unique_ptr<TensorFile>> OpenTensorFile(
    std::unique_ptr<ReadableFile> file, std::string_view path,
    TensorFormat format);

// The same for one format. NumPy's .npz is a zip archive of .npy files, whose
// checksums are verified; other members are ignored. An array in Fortran order
// is held in memory as a whole while it is read.
absl::StatusOr<std::unique_ptr<TensorFile>> OpenSafetensors(
    std::unique_ptr<ReadableFile> file, std::string_view path);
absl::StatusOr<std::unique_ptr<TensorFile>> OpenNpz(
    std::unique_ptr<ReadableFile> file, std::string_view path);

}  // namespace capstan
