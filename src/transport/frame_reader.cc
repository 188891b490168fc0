#include "transport/frame_reader.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/cat.h"
#include "base/status.h"

namespace capstan {
namespace {

// Appends to `views` the `bytes` bytes of `from` that start at `offset`.
void AppendRange(std::span<const MutableBytes> from, uint64_t offset,
                 uint64_t bytes, std::vector<MutableBytes>& views) {
  for (const MutableBytes& view : from) {
    if (bytes == 0 || views.size() + 1 >= kMaxViews) return;
    if (offset >= view.size()) {
      offset -= view.size();
      continue;
    }
    const size_t count =
        static_cast<size_t>(std::min<uint64_t>(bytes, view.size() - offset));
    views.push_back(view.subspan(static_cast<size_t>(offset), count));
    bytes -= count;
    offset = 0;
  }
}

// Whether the bytes, which should be a header, start a TLS record: a handshake
// or an alert.
bool IsTls(Bytes bytes) {
  return bytes.size() >= 2 &&
         (bytes[0] == std::byte{0x16} || bytes[0] == std::byte{0x15}) &&
         bytes[1] == std::byte{0x03};
}

absl::Status SpeaksTls() {
  return absl::InvalidArgumentError(
      "the peer uses TLS and this side does not: give --tls to both or to "
      "neither");
}

}  // namespace

absl::Status Malformed(const FrameHeader& header, std::string_view why) {
  return absl::InvalidArgumentError(
      absl::StrCat(ToString(header), ": ", ToAbsl(why)));
}

FrameReader::FrameReader(Stream& stream, Clock& clock, FrameLimits limits)
    : stream_(stream),
      clock_(clock),
      limits_(limits),
      buffer_(std::make_unique<std::byte[]>(kReadAhead)),
      last_read_(clock.Now()),
      last_heard_(last_read_) {}

Task<absl::StatusOr<size_t>> FrameReader::ReadViews() {
  waiting_ = true;
  absl::StatusOr<size_t> count = co_await stream_.ReadSome(views_);
  waiting_ = false;
  if (count.ok() && *count > 0) last_heard_ = last_read_ = clock_.Now();
  co_return count;
}

size_t FrameReader::TakeBuffered(MutableBytes into) {
  const size_t count = std::min(into.size(), buffered());
  if (count > 0) std::memcpy(into.data(), buffer_.get() + begin_, count);
  begin_ += count;
  return count;
}

Task<absl::StatusOr<FrameHeader>> FrameReader::ReadHeader() {
  while (buffered() < kHeaderBytes) {
    if (begin_ > 0) {
      std::memmove(buffer_.get(), buffer_.get() + begin_, buffered());
      end_ -= begin_;
      begin_ = 0;
    }
    inside_frame_ = end_ > 0;
    views_.assign(1, MutableBytes(buffer_.get() + end_, kReadAhead - end_));
    absl::StatusOr<size_t> count = co_await ReadViews();
    if (!count.ok() && IsTls(Bytes(buffer_.get(), end_))) co_return SpeaksTls();
    if (!count.ok()) co_return count.status();
    end_ += *count;
  }
  inside_frame_ = true;
  const std::span<const std::byte, kHeaderBytes> bytes(buffer_.get() + begin_,
                                                       kHeaderBytes);
  begin_ += kHeaderBytes;
  if (IsTls(bytes)) co_return SpeaksTls();
  co_return DecodeHeader(bytes, limits_);
}

Task<absl::StatusOr<MessagePrefix>> FrameReader::ReadPrefix(
    const FrameHeader& header) {
  // A copy, because the caller's header may be gone after a suspension.
  const FrameHeader head = header;
  MessagePrefix prefix;
  if (head.attachment_count > 0) {
    std::vector<std::byte> table(size_t{8} * head.attachment_count);
    absl::Status status = co_await Read(table);
    if (!status.ok()) co_return status;
    absl::StatusOr<std::vector<uint64_t>> lengths = DecodeLengths(head, table);
    if (!lengths.ok()) co_return lengths.status();
    prefix.lengths = *std::move(lengths);
  }
  if (head.body_bytes > 0) {
    prefix.body.resize(head.body_bytes);
    MutableBytes body = std::as_writable_bytes(
        std::span(prefix.body.data(), prefix.body.size()));
    absl::Status status = co_await Read(body);
    if (!status.ok()) co_return status;
  }
  co_return prefix;
}

std::optional<absl::StatusOr<MessagePrefix>> FrameReader::TryReadPrefix(
    const FrameHeader& header) {
  if (buffered() < PrefixBytes(header)) return std::nullopt;
  MessagePrefix prefix;
  const size_t table_bytes = size_t{8} * header.attachment_count;
  if (table_bytes > 0) {
    absl::StatusOr<std::vector<uint64_t>> lengths =
        DecodeLengths(header, Bytes(buffer_.get() + begin_, table_bytes));
    if (!lengths.ok()) return lengths.status();
    prefix.lengths = *std::move(lengths);
  }
  const Bytes body(buffer_.get() + begin_ + table_bytes, header.body_bytes);
  prefix.body = std::string(AsText(body));
  begin_ += table_bytes + body.size();
  return prefix;
}

bool FrameReader::TryRead(MutableBytes into) {
  if (buffered() < into.size()) return false;
  TakeBuffered(into);
  return true;
}

Task<absl::Status> FrameReader::Read(MutableBytes into, size_t read_ahead) {
  size_t done = TakeBuffered(into);
  while (done < into.size()) {
    // The buffer is empty here.
    begin_ = end_ = 0;
    views_.assign(1, into.subspan(done));
    if (read_ahead > 0) {
      views_.push_back(
          MutableBytes(buffer_.get(), std::min(read_ahead, kReadAhead)));
    }
    absl::StatusOr<size_t> count = co_await ReadViews();
    if (!count.ok()) co_return count.status();
    const size_t mine = std::min(*count, into.size() - done);
    done += mine;
    end_ = *count - mine;
  }
  co_return absl::OkStatus();
}

Task<absl::Status> FrameReader::ReadInto(
    std::shared_ptr<Destination> destination, uint64_t offset, uint64_t bytes) {
  while (bytes > 0) {
    if (destination->abandoned) {
      if (destination->released) destination->released();
      co_return co_await Skip(bytes);
    }
    views_.clear();
    AppendRange(destination->views, offset, bytes, views_);
    size_t count = 0;
    if (buffered() > 0) {
      for (const MutableBytes& view : views_) count += TakeBuffered(view);
    } else {
      begin_ = end_ = 0;
      const size_t wanted = TotalSize(views_);
      // Read ahead only the next header: it may be followed by another piece,
      // which should go straight to its destination.
      if (wanted == bytes) {
        views_.push_back(MutableBytes(buffer_.get(), kHeaderBytes));
      }
      absl::StatusOr<size_t> read = co_await ReadViews();
      if (!read.ok()) co_return read.status();
      count = std::min(*read, wanted);
      end_ = *read - count;
    }
    offset += count;
    bytes -= count;
  }
  co_return absl::OkStatus();
}

Task<absl::Status> FrameReader::Skip(uint64_t bytes) {
  while (bytes > 0) {
    if (buffered() == 0) {
      begin_ = end_ = 0;
      views_.assign(1, MutableBytes(buffer_.get(), kReadAhead));
      absl::StatusOr<size_t> read = co_await ReadViews();
      if (!read.ok()) co_return read.status();
      end_ = *read;
    }
    const size_t count =
        static_cast<size_t>(std::min<uint64_t>(bytes, buffered()));
    begin_ += count;
    bytes -= count;
  }
  co_return absl::OkStatus();
}

}  // namespace capstan
