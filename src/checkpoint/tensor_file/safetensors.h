// Files of named tensors that other programs read: Hugging Face's safetensors.
//
//   const std::vector<NamedTensor> tensors = {{"dense/kernel", kernel.view()}};
//   WriteSafetensors(files, "model.safetensors", tensors, {{"step", "1200"}});
//   absl::StatusOr<Safetensors> model =
//       ReadSafetensors(files, "model.safetensors");
//
// Every error names the file, and the tensor if it concerns one. A file may
// come from anyone: nothing in it is trusted before it is checked, and
// inconsistent content is DataLoss, never undefined behaviour. The format has
// no checksum: changed elements go unnoticed.
// The functions block; they are as thread-safe as the FileSystem.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/file/file_system.h"
#include "capstan/tensor.h"
#include "checkpoint/tensor_file/safetensors_header.h"

namespace capstan {

// A tensor to be written. The caller owns the memory.
struct NamedTensor {
  std::string name;
  TensorView view;
};

// The content of a file. The tensors are in the order of their data.
struct Safetensors {
  std::map<std::string, std::string> metadata;
  std::vector<std::string> names;
  std::vector<Tensor> tensors;  // as many as names

  // Null if there is no tensor of that name. Valid as long as this object.
  const Tensor* Find(std::string_view name) const;
};

// Makes `path` a file of `tensors`, atomically and durably: like ReplaceFile,
// with the same `path`.tmp, but without holding the file in memory. Tensors of
// wider elements come first, so that all are aligned; otherwise the order is
// kept. InvalidArgument for a name that is empty, reserved, duplicate or not
// UTF-8, and for a bool that is neither 0 nor 1; ResourceExhausted if names and
// metadata are larger than the format allows.
absl::Status WriteSafetensors(
    FileSystem& files, std::string_view path,
    std::span<const NamedTensor> tensors,
    const std::map<std::string, std::string>& metadata = {});

// Reads a whole file into memory. NotFound if it does not exist; DataLoss if it
// is truncated or inconsistent; InvalidArgument for a dtype or a shape that
// Capstan does not support; ResourceExhausted if its header is larger than
// kMaxSafetensorsHeader or there is not enough memory.
absl::StatusOr<Safetensors> ReadSafetensors(const FileSystem& files,
                                            std::string_view path);

// A file that is read tensor by tensor. As thread-safe as ReadableFile. Must
// not outlive the FileSystem.
class SafetensorsFile {
 public:
  // Reads and checks the header. Fails like ReadSafetensors.
  static absl::StatusOr<SafetensorsFile> Open(const FileSystem& files,
                                              std::string_view path);
  // The same for an open file; errors call it `path`. Entries of unknown dtypes
  // that are kept must not be read.
  static absl::StatusOr<SafetensorsFile> Open(
      std::unique_ptr<ReadableFile> file, std::string_view path,
      UnknownDTypes unknown = UnknownDTypes::kRefuse);

  const SafetensorsHeader& header() const { return header_; }

  // Reads one of header().entries. DataLoss if the file became shorter or a
  // bool is neither 0 nor 1; ResourceExhausted if there is not enough memory.
  absl::StatusOr<Tensor> Read(const SafetensorsEntry& entry) const;

  // Fills `buffer` with the bytes of an entry from `offset` on; the entry must
  // have that many. DataLoss if the file became shorter; errors do not name the
  // file, and bools are not checked.
  absl::Status ReadPart(const SafetensorsEntry& entry, uint64_t offset,
                        MutableBytes buffer) const;

 private:
  SafetensorsFile(std::string path, std::unique_ptr<ReadableFile> file)
      : path_(std::move(path)), file_(std::move(file)) {}

  absl::Status ReadHeader(UnknownDTypes unknown);
  absl::Status ReadAll(uint64_t offset, MutableBytes buffer) const;

  std::string path_;
  std::unique_ptr<ReadableFile> file_;
  uint64_t data_begin_ = 0;
  SafetensorsHeader header_;
};

}  // namespace capstan
