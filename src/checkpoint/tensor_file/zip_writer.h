// Zip archives whose members are stored as they are (APPNOTE.TXT 6.3.3, with
// zip64 where a number needs it), written from front to back.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "base/bytes.h"
#include "base/file/file_system.h"

namespace capstan {

// Not thread-safe.
class ZipWriter {
 public:
  // Writes to `file`, which is new and must outlive this.
  explicit ZipWriter(WritableFile& file) : file_(file) {}

  // Begins a member of `bytes` bytes with the checksum `crc32`. Its data
  // follows by Append. FailedPrecondition if the previous member is incomplete.
  absl::Status Begin(std::string_view name, uint64_t bytes, uint32_t crc32);
  absl::Status Append(Bytes data);

  // Writes the directory, after the last member.
  absl::Status Finish();

 private:
  struct Member {
    std::string name;
    uint64_t bytes = 0;
    uint32_t crc32 = 0;
    uint64_t offset = 0;
  };

  absl::Status Write(std::string_view text);
  absl::Status CheckComplete() const;

  WritableFile& file_;
  uint64_t written_ = 0;  // bytes of the archive
  uint64_t missing_ = 0;  // bytes still to come of the last member
  std::vector<Member> members_;
};

}  // namespace capstan
