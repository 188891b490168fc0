#include "dataset/gunzip.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <exception>

#include "dataset/cat.h"

namespace capstan {
namespace {

constexpr size_t kPiece = size_t{64} << 10;
// Makes inflateInit2 expect the header of gzip.
constexpr int kGzip = 16;

class Inflater {
 public:
  Inflater() { ready_ = inflateInit2(&stream_, kGzip + MAX_WBITS) == Z_OK; }
  ~Inflater() { inflateEnd(&stream_); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  bool ready() const { return ready_; }
  z_stream& stream() { return stream_; }

 private:
  z_stream stream_ = {};
  bool ready_ = false;
};

// Adds what one member of the file holds, and moves `content` behind it.
absl::Status AddMember(std::string_view& content, size_t max,
                       std::string& plain) {
  Inflater inflater;
  if (!inflater.ready()) {
    return absl::ResourceExhaustedError("no memory to decompress");
  }
  z_stream& stream = inflater.stream();
  std::array<char, kPiece> piece;
  int result = Z_OK;
  while (result != Z_STREAM_END && plain.size() < max) {
    // zlib counts in 32 bits.
    const size_t given = std::min<size_t>(content.size(), size_t{1} << 30);
    stream.next_in =
        reinterpret_cast<Bytef*>(const_cast<char*>(content.data()));
    stream.avail_in = static_cast<uInt>(given);
    stream.next_out = reinterpret_cast<Bytef*>(piece.data());
    stream.avail_out = static_cast<uInt>(piece.size());
    result = inflate(&stream, Z_NO_FLUSH);
    const size_t made = piece.size() - stream.avail_out;
    content.remove_prefix(given - stream.avail_in);
    if (result != Z_OK && result != Z_STREAM_END) {
      return absl::DataLossError(
          content.empty() || result == Z_BUF_ERROR
              ? "the compressed content is cut short"
              : Cat("the compressed content is damaged: ",
                    stream.msg == nullptr ? "?" : stream.msg));
    }
    plain.append(piece.data(), std::min(made, max - plain.size()));
  }
  return absl::OkStatus();
}

}  // namespace

bool IsGzip(std::string_view content) {
  return content.substr(0, 2) == "\x1f\x8b";
}

absl::StatusOr<std::string> Gunzip(std::string_view content, size_t max) {
  std::string plain;
  try {
    // A file may have several members, one after the other.
    while (IsGzip(content) && plain.size() < max) {
      const absl::Status status = AddMember(content, max, plain);
      if (!status.ok()) return status;
    }
  } catch (const std::exception&) {
    return absl::ResourceExhaustedError(
        Cat("no memory to decompress more than ", plain.size(), " bytes"));
  }
  return plain;
}

}  // namespace capstan
