// A user's data file, read from start to end, and decompressed on the fly if it
// is gzip (RFC 1952). The content is treated as hostile: nothing is read, and
// no memory taken, beyond what is asked for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "base/file/file_system.h"
#include "tensor/buffer.h"

namespace capstan {

// Not thread-safe. Errors name the file: DataLoss if the compressed content is
// damaged or truncated, ResourceExhausted if there is not enough memory.
class InputStream {
 public:
  static absl::StatusOr<std::unique_ptr<InputStream>> Open(std::string path);
  ~InputStream();
  InputStream(const InputStream&) = delete;
  InputStream& operator=(const InputStream&) = delete;

  // Fills `buffer` with the next bytes; fewer only at the end.
  absl::StatusOr<size_t> Read(MutableBytes buffer);

  // Reads everything that is left, if it is as many bytes as a header has
  // promised; otherwise DataLoss, before more bytes than promised are read.
  absl::StatusOr<Buffer> ReadRest(uint64_t promised);

 private:
  struct Inflater;

  InputStream(std::string path, std::unique_ptr<ReadableFile> file,
              uint64_t file_size);

  absl::StatusOr<size_t> Inflate(MutableBytes buffer);
  // Reads more compressed data, after what has not been used yet.
  absl::Status Refill();
  // After the end of a gzip member: whether another follows.
  absl::StatusOr<bool> NextMember();

  const std::string path_;
  const std::unique_ptr<ReadableFile> file_;
  const uint64_t file_size_;
  uint64_t offset_ = 0;                 // of the next read from the file
  std::unique_ptr<Inflater> inflater_;  // if the file is compressed
};

// Throws DataLoss: the file claims something impossible.
[[noreturn]] void Damaged(const std::string& path, std::string_view reason);

}  // namespace capstan
