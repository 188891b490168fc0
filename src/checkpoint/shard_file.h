// Writing and reading the safetensors files of a checkpoint piece by piece:
// only one piece is in memory at a time, and everything read is verified.
//
// Functions block. Errors name the file, and the tensor if they concern one.
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
#include "base/bytes.h"
#include "base/file/file_system.h"
#include "capstan/tensor.h"
#include "checkpoint/manifest.h"
#include "checkpoint/tensor_file/safetensors_header.h"
#include "checkpoint/tensor_file/tensor_source.h"

namespace capstan {

// Sorts the tensors into file order: wider elements first, so that all are
// aligned; otherwise the order is kept.
void SortForFile(std::vector<FileTensor>& tensors);

// Not thread-safe.
class ShardFileWriter {
 public:
  // Creates `path`, which must not exist, and writes the header. `tensors` are
  // sorted for the file. The file's metadata is `metadata` and "save_id" in
  // hex. InvalidArgument for a name that is empty, reserved, duplicate or not
  // UTF-8, and for tensors that are not sorted; then nothing is created.
  static absl::StatusOr<std::unique_ptr<ShardFileWriter>> Create(
      FileSystem& files, std::string_view path, uint64_t save_id,
      std::span<const FileTensor> tensors,
      const std::map<std::string, std::string>& metadata = {});

  // Appends the next bytes of the tensors, one after the other; a piece may end
  // anywhere. InvalidArgument if there are more than the tensors have.
  absl::Status Append(Bytes data);

  // Syncs and closes, after the last byte. FailedPrecondition if bytes are
  // missing. The returned name is that of the file in its directory.
  absl::StatusOr<SavedFile> Finish();

 private:
  ShardFileWriter() = default;

  std::string path_;
  std::unique_ptr<WritableFile> file_;
  SavedFile written_;
  std::vector<uint64_t> sizes_;  // of the tensors
  size_t current_ = 0;           // which tensor
  uint64_t done_ = 0;            // bytes of the current tensor
};

// Thread-safe, as ReadableFile. Must not outlive the FileSystem.
class ShardFileReader final : public TensorSource {
 public:
  // Opens `path` and checks its size, its header and its save id against
  // `expected`, and that it holds exactly those tensors. DataLoss, naming what
  // differs. Only the header is read, yet every bit of it is verified: its
  // checksum is the file's with those of the tensors factored out.
  static absl::StatusOr<std::unique_ptr<ShardFileReader>> Open(
      const FileSystem& files, std::string_view path, const SavedFile& expected,
      uint64_t save_id);

  // Null if there is none. Valid as long as the reader.
  const SafetensorsEntry* Find(std::string_view tensor) const;

  // DataLoss at the end if the checksum is not that of the manifest.
  absl::Status Read(std::string_view tensor, const Take& take) const override;

  // The same for callers that would rather pull the pieces: a position in a
  // tensor, from its beginning. NotFound if there is no such tensor.
  struct Cursor {
    size_t tensor = 0;
    uint64_t offset = 0;
    uint32_t crc32c = 0;  // of what was read
  };
  absl::StatusOr<Cursor> Begin(std::string_view tensor) const;
  // Fills `buffer` with the next bytes; fewer only at the end, 0 past it.
  // DataLoss instead of the last bytes if the checksum is wrong.
  absl::StatusOr<size_t> ReadNext(Cursor& cursor, MutableBytes buffer) const;

  // Reads the whole file and checks every checksum, those of the tensors and
  // that of the file.
  absl::Status Verify() const;

 private:
  ShardFileReader() = default;

  absl::Status ReadHeader(uint64_t save_id);
  // OK if `crc` is the header's expected checksum.
  absl::Status CheckHeaderCrc(uint32_t crc) const;
  absl::Status CheckSaveId(uint64_t save_id) const;
  // Sorts the entries into the order of expected_.
  absl::Status ArrangeTensors();
  absl::Status ReadAll(uint64_t offset, MutableBytes buffer) const;
  // As ReadNext, but the errors do not name the file.
  absl::StatusOr<size_t> ReadPiece(Cursor& cursor, MutableBytes buffer) const;
  // Reads tensor `index`, using `buffer` for the pieces.
  absl::Status ReadTensor(size_t index, MutableBytes buffer,
                          const Take& take) const;

  std::string path_;
  std::unique_ptr<ReadableFile> file_;
  SavedFile expected_;
  SafetensorsHeader header_;                  // entries as expected_.tensors
  std::map<std::string_view, size_t> index_;  // of the entries, by name
  uint64_t data_begin_ = 0;
};

}  // namespace capstan
