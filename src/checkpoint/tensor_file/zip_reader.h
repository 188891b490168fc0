// Zip archives (APPNOTE.TXT 6.3.3, with zip64), whose members are stored or
// deflated, read as if from an enemy: nothing in them is believed before it is
// checked, and what does not fit together is DataLoss.
//
// Functions block. Errors name the member, if it is about one, and not the
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

// The most that a directory may have, as kMaxSafetensorsHeader.
inline constexpr uint64_t kMaxZipDirectory = 100'000'000;

struct ZipMember {
  std::string name;
  bool deflated = false;
  uint64_t begin = 0;         // of its data in the file
  uint64_t stored_bytes = 0;  // that it takes there
  // What the directory says; whether it is so is known when it was read.
  uint64_t bytes = 0;
  uint32_t crc32 = 0;
};

// The members, in the order of their data: none overlaps another, and all are
// in the file. Entries for folders are left out. DataLoss; InvalidArgument for
// a member that is encrypted or compressed by another method;
// ResourceExhausted for a directory of more than kMaxZipDirectory bytes.
absl::StatusOr<std::vector<ZipMember>> ReadZipDirectory(
    const ReadableFile& file);

// A member from its beginning to its end. Not thread-safe. Must not outlive
// `file` and `member`.
class ZipMemberStream {
 public:
  ZipMemberStream(const ReadableFile& file, const ZipMember& member);
  ~ZipMemberStream();
  ZipMemberStream(const ZipMemberStream&) = delete;
  ZipMemberStream& operator=(const ZipMemberStream&) = delete;

  // Fills `buffer` with the next bytes; fewer only at the end, 0 behind it.
  // DataLoss, at the latest instead of the last bytes, if it has not the size
  // and the checksum that the directory says: so what was given is to be used
  // only once all of it was.
  absl::StatusOr<size_t> Next(MutableBytes buffer);

 private:
  struct Inflater;

  // As Next, of `piece`, which is not longer than what is left.
  absl::Status FillStored(MutableBytes piece);
  absl::Status FillInflated(MutableBytes piece);
  // How many bytes came, fewer than asked for only at the end.
  absl::StatusOr<size_t> Inflate(MutableBytes piece);
  // Behind the last byte.
  absl::Status CheckEnd();

  const ReadableFile& file_;
  const ZipMember& member_;
  uint64_t read_ = 0;  // bytes of the file
  uint64_t done_ = 0;  // bytes that were given
  uint32_t crc32_ = 0;
  std::unique_ptr<Inflater> inflater_;  // if it is deflated
};

}  // namespace capstan
