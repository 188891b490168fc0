// The values of a saved variable from its first row to its last, however it is
// cut into shards, piece by piece: for code that looks at whole variables.
//
// Functions block. Errors name the file, and the tensor if they concern one.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/bytes.h"
#include "base/file/file_system.h"
#include "checkpoint/manifest.h"
#include "checkpoint/shard_file.h"

namespace capstan {

// The open files of a checkpoint, their headers verified. Thread-safe. Must not
// outlive the FileSystem.
class OpenFiles {
 public:
  // DataLoss if a file does not match the manifest, or a tensor does not have
  // the required dtype and shape.
  static absl::StatusOr<OpenFiles> Open(const FileSystem& files,
                                        std::string_view checkpoint_path,
                                        const Manifest& manifest);

  // The file of a shard in that manifest.
  const ShardFileReader& Of(const SavedShard& shard) const;

 private:
  OpenFiles() = default;

  std::map<std::string, std::unique_ptr<ShardFileReader>, std::less<>> files_;
};

// Not thread-safe. Must not outlive `files` and `variable`.
class VariableStream {
 public:
  // Streams the values, or a slot if `slot` is not empty.
  VariableStream(const OpenFiles& files, const SavedVariable& variable,
                 std::string slot);

  // Fills `buffer` with the next bytes; fewer only at the end, 0 past it.
  // DataLoss at the end of a shard whose checksum is wrong: so use the bytes
  // only once all of them have been read.
  absl::StatusOr<size_t> Next(MutableBytes buffer);

 private:
  const OpenFiles& files_;
  const SavedVariable& variable_;
  const std::string slot_;
  size_t shard_ = 0;  // being read
  bool begun_ = false;
  ShardFileReader::Cursor cursor_;
};

// Reads a whole stream through `buffer`, and passes each piece to `take`, which
// may fail.
absl::Status ReadStream(VariableStream stream, MutableBytes buffer,
                        const std::function<absl::Status(Bytes)>& take);

}  // namespace capstan
