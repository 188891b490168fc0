// Reads frames from a stream: headers through a small buffer, everything large
// straight into its destination.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/async/clock.h"
#include "base/async/task.h"
#include "base/bytes.h"
#include "transport/stream.h"
#include "wire/frame.h"

namespace capstan {

// Memory that a reader fills, and that can be taken away from the reader: after
// `abandoned` is set (and Stream::Interrupt called) the reader calls `released`
// as soon as it no longer uses the views, and skips the remaining bytes.
// Shared, because the reader may notice only after the memory's owner has been
// destroyed.
struct Destination {
  std::vector<MutableBytes> views;
  bool abandoned = false;
  std::function<void()> released;
};

// What follows a message's header: the attachments' lengths and the body.
struct MessagePrefix {
  std::vector<uint64_t> lengths;
  std::string body;
};

// The error that closes a connection whose peer sent `header`.
absl::Status Malformed(const FrameHeader& header, std::string_view why);

// Lives on the stream's executor. One operation at a time.
class FrameReader {
 public:
  // Large enough that a small request takes one system call; for a thousand
  // connections the buffers take 16 MiB.
  static constexpr size_t kReadAhead = 16 << 10;

  // `stream` and `clock` must outlive the reader.
  FrameReader(Stream& stream, Clock& clock, FrameLimits limits);

  // Reads the next header. InvalidArgument if it is malformed; Unavailable if
  // the stream ends.
  Task<absl::StatusOr<FrameHeader>> ReadHeader();

  // Reads the table and body that follow `header`. Errors as above.
  Task<absl::StatusOr<MessagePrefix>> ReadPrefix(const FrameHeader& header);

  // Like ReadPrefix, but without waiting, if all of it has been read ahead;
  // otherwise returns nullopt and consumes nothing.
  std::optional<absl::StatusOr<MessagePrefix>> TryReadPrefix(
      const FrameHeader& header);

  // Fills all of `into`. May read up to `read_ahead` more bytes from the stream
  // for later, which saves a system call but costs a copy.
  Task<absl::Status> Read(MutableBytes into, size_t read_ahead = kReadAhead);

  // Fills `into` without waiting, if enough has been read ahead; otherwise
  // returns false and consumes nothing.
  bool TryRead(MutableBytes into);

  // Fills the views of `destination` with the next `bytes` bytes, starting
  // `offset` bytes into them. Skips the rest once `destination` is abandoned.
  Task<absl::Status> ReadInto(std::shared_ptr<Destination> destination,
                              uint64_t offset, uint64_t bytes);

  // Reads and discards `bytes` bytes.
  Task<absl::Status> Skip(uint64_t bytes);

  // Whether bytes have been read ahead and not yet consumed.
  bool has_more() const { return buffered() > 0; }

  // When bytes last arrived.
  MonotonicTime last_read() const { return last_read_; }
  // The start of the peer's silence: when bytes last arrived, or a later time
  // passed to set_last_heard.
  MonotonicTime last_heard() const { return last_heard_; }
  void set_last_heard(MonotonicTime time) { last_heard_ = time; }
  // Tells the reader whether more frames of a message that has begun are due.
  void set_message_begun(bool begun) { message_begun_ = begun; }
  // Whether a message has begun and the reader is waiting for more of it.
  bool inside_message() const {
    return waiting_ && (inside_frame_ || message_begun_);
  }
  // Whether the reader is waiting for bytes (rather than paused by the caller).
  bool waiting() const { return waiting_; }

 private:
  // Reads at least one byte into views_ (none if interrupted).
  Task<absl::StatusOr<size_t>> ReadViews();
  // Moves buffered bytes to `into`; returns how many.
  size_t TakeBuffered(MutableBytes into);
  size_t buffered() const { return end_ - begin_; }

  Stream& stream_;
  Clock& clock_;
  const FrameLimits limits_;
  // Bytes that were read ahead: buffer_[begin_, end_).
  std::unique_ptr<std::byte[]> buffer_;
  size_t begin_ = 0;
  size_t end_ = 0;
  std::vector<MutableBytes> views_;
  MonotonicTime last_read_;
  MonotonicTime last_heard_;
  bool waiting_ = false;
  bool inside_frame_ = false;
  bool message_begun_ = false;
};

}  // namespace capstan
