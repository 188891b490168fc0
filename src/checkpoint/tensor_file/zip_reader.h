// Reads zip archives (APPNOTE.TXT 6.3.3, with zip64) whose members are stored
// or deflated. The content is treated as hostile: nothing in it is trusted
// before it is checked, and inconsistent content is DataLoss.
//
// Functions block. Errors name the member, if they concern one, but not the
// file.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/bytes.h"
#include "base/file/file_system.h"

namespace capstan {

// The largest directory accepted, as kMaxSafetensorsHeader.
inline constexpr uint64_t kMaxZipDirectory = 100'000'000;

struct ZipMember {
  std::string name;
  bool deflated = false;
  uint64_t begin = 0;         // of its data in the file
  uint64_t stored_bytes = 0;  // size of its data in the file
  // As the directory claims; verified only once the member has been read.
  uint64_t bytes = 0;
  uint32_t crc32 = 0;
};

// The members, in the order of their data: they do not overlap, and all are
// within the file. Entries for folders are left out. DataLoss; InvalidArgument
// for a member that is encrypted or compressed by another method;
// ResourceExhausted for a directory of more than kMaxZipDirectory bytes.
absl::StatusOr<std::vector<ZipMember>> ReadZipDirectory(
    const ReadableFile& file);

// Reads a member from start to end. Not thread-safe. Must not outlive `file`
// and `member`.
class ZipMemberStream {
 public:
  ZipMemberStream(const ReadableFile& file, const ZipMember& member);
  ~ZipMemberStream();
  ZipMemberStream(const ZipMemberStream&) = delete;
  ZipMemberStream& operator=(const ZipMemberStream&) = delete;

  // Fills `buffer` with the next bytes; fewer only at the end, 0 past it.
  // DataLoss, at the latest instead of the last bytes, if the member does not
  // have the size and the checksum that the directory claims: so use the bytes
  // only once all of them have been read.
  absl::StatusOr<size_t> Next(MutableBytes buffer);

 private:
  struct Inflater;

  // Like Next, for `piece`, which is not longer than what is left.
  absl::Status FillStored(MutableBytes piece);
  absl::Status FillInflated(MutableBytes piece);
  // Returns how many bytes it wrote, fewer than asked for only at the end.
  absl::StatusOr<size_t> Inflate(MutableBytes piece);
  // Called after the last byte.
  absl::Status CheckEnd();

  const ReadableFile& file_;
  const ZipMember& member_;
  uint64_t read_ = 0;  // bytes of the file
  uint64_t done_ = 0;  // bytes returned
  uint32_t crc32_ = 0;
  std::unique_ptr<Inflater> inflater_;  // if the member is deflated
};

}  // namespace capstan
