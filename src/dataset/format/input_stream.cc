#include "dataset/format/input_stream.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

#include "base/cat.h"
#include "base/checked_math.h"
#include "base/status.h"
#include "capstan/error.h"
#include "dataset/format/input_file.h"

namespace capstan {
namespace {

// How many compressed bytes to read at a time.
constexpr size_t kInputBytes = size_t{64} << 10;
// zlib counts in 32 bits.
constexpr size_t kMostAtOnce = size_t{1} << 30;
// Makes inflateInit2 expect a gzip header.
constexpr int kGzip = 16;
// Deflate's maximum expansion: output bytes per input byte.
constexpr uint64_t kMostInflated = 1032;

bool IsGzip(Bytes start) {
  return start.size() >= 2 && start[0] == std::byte{0x1f} &&
         start[1] == std::byte{0x8b};
}

}  // namespace

struct InputStream::Inflater {
  Inflater() : ready(inflateInit2(&stream, kGzip + MAX_WBITS) == Z_OK) {
    stream.next_in = reinterpret_cast<Bytef*>(input.data());
  }
  ~Inflater() { inflateEnd(&stream); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  z_stream stream = {};
  const bool ready;
  bool ended = false;  // past the last member
  std::array<std::byte, kInputBytes> input;
};

InputStream::InputStream(std::string path, std::unique_ptr<ReadableFile> file,
                         uint64_t file_size)
    : path_(std::move(path)), file_(std::move(file)), file_size_(file_size) {}

InputStream::~InputStream() = default;

absl::StatusOr<std::unique_ptr<InputStream>> InputStream::Open(
    std::string path) {
  absl::StatusOr<std::unique_ptr<ReadableFile>> file = OpenInputFile(path);
  CAPSTAN_RETURN_IF_ERROR(file.status());
  const absl::StatusOr<uint64_t> size = (*file)->Size();
  CAPSTAN_RETURN_IF_ERROR(size.status());
  std::array<std::byte, 2> start = {};
  const absl::StatusOr<size_t> got = (*file)->ReadAt(0, start);
  CAPSTAN_RETURN_IF_ERROR(got.status());
  std::unique_ptr<InputStream> stream(
      new InputStream(std::move(path), *std::move(file), *size));
  if (IsGzip(Bytes(start).first(*got))) {
    stream->inflater_ = std::make_unique<Inflater>();
  }
  return stream;
}

absl::StatusOr<size_t> InputStream::Read(MutableBytes buffer) {
  if (inflater_ != nullptr) {
    absl::StatusOr<size_t> got = Inflate(buffer);
    CAPSTAN_RETURN_IF_ERROR(WithContext(got.status(), path_));
    return got;
  }
  absl::StatusOr<size_t> got = file_->ReadAt(offset_, buffer);
  if (got.ok()) offset_ += *got;
  return got;
}

absl::StatusOr<Buffer> InputStream::ReadRest(uint64_t promised) {
  const auto differs = [&](std::string_view found) {
    return absl::DataLossError(Cat(path_, ": the header says ", promised,
                                   " bytes, and there are ", found));
  };
  // The size of compressed content is known only once it has been read.
  const uint64_t left = file_size_ - std::min(file_size_, offset_);
  if (inflater_ == nullptr && promised != left) return differs(Cat(left));
  if (inflater_ != nullptr) {
    const std::optional<uint64_t> most = CheckedMul(file_size_, kMostInflated);
    if (most && promised > *most) return differs(Cat("at most ", *most));
  }
  absl::StatusOr<Buffer> buffer = Buffer::Allocate(promised, Fill::kNone);
  CAPSTAN_RETURN_IF_ERROR(WithContext(buffer.status(), path_));
  const absl::StatusOr<size_t> got =
      Read(MutableBytes(buffer->data(), buffer->size()));
  CAPSTAN_RETURN_IF_ERROR(got.status());
  if (*got < promised) return differs(Cat(*got));
  std::byte more;
  const absl::StatusOr<size_t> beyond = Read(MutableBytes(&more, 1));
  CAPSTAN_RETURN_IF_ERROR(beyond.status());
  if (*beyond > 0) return differs("more");
  return buffer;
}

absl::StatusOr<size_t> InputStream::Inflate(MutableBytes buffer) {
  const absl::Status no_memory =
      absl::ResourceExhaustedError("no memory to decompress");
  if (!inflater_->ready) return no_memory;
  z_stream& stream = inflater_->stream;
  size_t done = 0;
  while (done < buffer.size() && !inflater_->ended) {
    if (stream.avail_in == 0) CAPSTAN_RETURN_IF_ERROR(Refill());
    const size_t wanted = std::min(buffer.size() - done, kMostAtOnce);
    stream.next_out = reinterpret_cast<Bytef*>(buffer.data() + done);
    stream.avail_out = static_cast<uInt>(wanted);
    const int result = inflate(&stream, Z_NO_FLUSH);
    done += wanted - stream.avail_out;
    if (result == Z_STREAM_END) {
      const absl::StatusOr<bool> more = NextMember();
      CAPSTAN_RETURN_IF_ERROR(more.status());
      inflater_->ended = !*more;
    } else if (result == Z_MEM_ERROR) {
      return no_memory;
    } else if (result == Z_BUF_ERROR) {
      return absl::DataLossError("the compressed content is cut short");
    } else if (result != Z_OK) {
      return absl::DataLossError(Cat("the compressed content is damaged: ",
                                     stream.msg == nullptr ? "?" : stream.msg));
    }
  }
  return done;
}

absl::Status InputStream::Refill() {
  z_stream& stream = inflater_->stream;
  std::array<std::byte, kInputBytes>& input = inflater_->input;
  std::memmove(input.data(), stream.next_in, stream.avail_in);
  const MutableBytes free = MutableBytes(input).subspan(stream.avail_in);
  const absl::StatusOr<size_t> got = file_->ReadAt(offset_, free);
  CAPSTAN_RETURN_IF_ERROR(got.status());
  offset_ += *got;
  stream.next_in = reinterpret_cast<Bytef*>(input.data());
  stream.avail_in += static_cast<uInt>(*got);
  return absl::OkStatus();
}

absl::StatusOr<bool> InputStream::NextMember() {
  z_stream& stream = inflater_->stream;
  if (stream.avail_in < 2) CAPSTAN_RETURN_IF_ERROR(Refill());
  const Bytes rest(reinterpret_cast<const std::byte*>(stream.next_in),
                   stream.avail_in);
  // Anything else, such as the zeros that tapes are padded with, is ignored.
  return IsGzip(rest) && inflateReset(&stream) == Z_OK;
}

void Damaged(const std::string& path, std::string_view reason) {
  throw Error(ErrorCode::kDataLoss, Cat(path, ": ", reason));
}

}  // namespace capstan
