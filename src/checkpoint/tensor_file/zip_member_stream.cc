#include <zlib.h>

#include <algorithm>
#include <array>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "checkpoint/tensor_file/crc32_zip.h"
#include "checkpoint/tensor_file/hex_text.h"
#include "checkpoint/tensor_file/zip_reader.h"

namespace capstan {
namespace {

// How many compressed bytes to read at a time.
constexpr size_t kInputBytes = size_t{64} << 10;
// zlib counts in 32 bits.
constexpr size_t kMostAtOnce = size_t{1} << 30;
// Makes inflateInit2 expect neither header nor checksum.
constexpr int kRaw = -MAX_WBITS;

absl::Status ReadAll(const ReadableFile& file, uint64_t offset,
                     MutableBytes buffer) {
  const absl::StatusOr<size_t> got = file.ReadAt(offset, buffer);
  CAPSTAN_RETURN_IF_ERROR(got.status());
  if (*got == buffer.size()) return absl::OkStatus();
  return absl::DataLossError("the file became shorter while it was read");
}

}  // namespace

struct ZipMemberStream::Inflater {
  Inflater() : ready(inflateInit2(&stream, kRaw) == Z_OK) {}
  ~Inflater() { inflateEnd(&stream); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  z_stream stream = {};
  const bool ready;
  bool ended = false;
  std::array<std::byte, kInputBytes> input;
};

ZipMemberStream::ZipMemberStream(const ReadableFile& file,
                                 const ZipMember& member)
    : file_(file), member_(member) {
  if (member.deflated) inflater_ = std::make_unique<Inflater>();
}

ZipMemberStream::~ZipMemberStream() = default;

absl::StatusOr<size_t> ZipMemberStream::Next(MutableBytes buffer) {
  const uint64_t left = member_.bytes - done_;
  const MutableBytes piece = buffer.first(
      static_cast<size_t>(std::min<uint64_t>(buffer.size(), left)));
  CAPSTAN_RETURN_IF_ERROR(inflater_ == nullptr ? FillStored(piece)
                                               : FillInflated(piece));
  crc32_ = ExtendZipCrc32(crc32_, piece);
  done_ += piece.size();
  if (done_ == member_.bytes) CAPSTAN_RETURN_IF_ERROR(CheckEnd());
  return piece.size();
}

absl::Status ZipMemberStream::FillStored(MutableBytes piece) {
  CAPSTAN_RETURN_IF_ERROR(ReadAll(file_, member_.begin + read_, piece));
  read_ += piece.size();
  return absl::OkStatus();
}

absl::Status ZipMemberStream::FillInflated(MutableBytes piece) {
  while (!piece.empty()) {
    const absl::StatusOr<size_t> got = Inflate(piece);
    CAPSTAN_RETURN_IF_ERROR(got.status());
    if (*got == 0) {
      return absl::DataLossError(absl::StrCat(
          "it is shorter than the ", member_.bytes, " bytes of the directory"));
    }
    piece = piece.subspan(*got);
  }
  return absl::OkStatus();
}

absl::StatusOr<size_t> ZipMemberStream::Inflate(MutableBytes piece) {
  if (!inflater_->ready) {
    return absl::ResourceExhaustedError("no memory to decompress");
  }
  z_stream& stream = inflater_->stream;
  const size_t wanted = std::min(piece.size(), kMostAtOnce);
  stream.next_out = reinterpret_cast<Bytef*>(piece.data());
  stream.avail_out = static_cast<uInt>(wanted);
  while (stream.avail_out > 0 && !inflater_->ended) {
    if (stream.avail_in == 0) {
      const MutableBytes input =
          MutableBytes(inflater_->input)
              .first(static_cast<size_t>(std::min<uint64_t>(
                  kInputBytes, member_.stored_bytes - read_)));
      CAPSTAN_RETURN_IF_ERROR(ReadAll(file_, member_.begin + read_, input));
      read_ += input.size();
      stream.next_in = reinterpret_cast<Bytef*>(input.data());
      stream.avail_in = static_cast<uInt>(input.size());
    }
    const int result = inflate(&stream, Z_NO_FLUSH);
    inflater_->ended = result == Z_STREAM_END;
    if (result == Z_OK || result == Z_STREAM_END) continue;
    if (result == Z_MEM_ERROR) {
      return absl::ResourceExhaustedError("no memory to decompress");
    }
    return absl::DataLossError(
        absl::StrCat("what is compressed is ",
                     result == Z_BUF_ERROR ? "cut short" : "damaged"));
  }
  return wanted - stream.avail_out;
}

absl::Status ZipMemberStream::CheckEnd() {
  if (inflater_ != nullptr) {
    std::byte more;
    const absl::StatusOr<size_t> got = Inflate(MutableBytes(&more, 1));
    CAPSTAN_RETURN_IF_ERROR(got.status());
    if (*got > 0 || read_ != member_.stored_bytes ||
        inflater_->stream.avail_in > 0) {
      return absl::DataLossError(absl::StrCat(
          "it is longer than the ", member_.bytes, " bytes of the directory"));
    }
  }
  if (crc32_ == member_.crc32) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat(
      "its checksum is ", Hex32(crc32_), ", but that of the directory is ",
      Hex32(member_.crc32), ": it is damaged"));
}

}  // namespace capstan
