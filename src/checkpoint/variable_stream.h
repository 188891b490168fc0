// The values of a saved variable from its first row to its last, however it is
// cut, piece by piece: for all that looks at whole variables.
//
// Functions block. Errors name the file, and the tensor if it is about one.
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

// The files of a checkpoint, open, their headers verified. Thread-safe. Must
// not outlive the FileSystem.
class OpenFiles {
 public:
  // DataLoss if a file is not that of the manifest, or a tensor has not the
  // dtype and shape that it must have.
  static absl::StatusOr<OpenFiles> Open(const FileSystem& files,
                                        std::string_view checkpoint_path,
                                        const Manifest& manifest);

  // The file of a shard of that manifest.
  const ShardFileReader& Of(const SavedShard& shard) const;

 private:
  OpenFiles() = default;

  std::map<std::string, std::unique_ptr<ShardFileReader>, std::less<>> files_;
};

// Not thread-safe. Must not outlive `files` and `variable`.
class VariableStream {
 public:
  // The values, or those of a slot.
  VariableStream(const OpenFiles& files, const SavedVariable& variable,
                 std::string slot);

  // Fills `buffer` with the next bytes; fewer only at the end, 0 behind it.
  // DataLoss as soon as a shard was read whose checksum is wrong: so what was
  // given is to be used only once all of it was.
  absl::StatusOr<size_t> Next(MutableBytes buffer);

 private:
  const OpenFiles& files_;
  const SavedVariable& variable_;
  const std::string slot_;
  size_t shard_ = 0;  // the one that is read
  bool begun_ = false;
  ShardFileReader::Cursor cursor_;
};

// Reads all of a stream through `buffer`, and gives each piece to `take`, which
// may fail.
absl::Status ReadStream(VariableStream stream, MutableBytes buffer,
                        const std::function<absl::Status(Bytes)>& take);

}  // namespace capstan
