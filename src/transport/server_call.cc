#include "transport/server_call.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "transport/server_connection.h"
#include "transport/server_core.h"

namespace capstan {

ConnectionCall::ConnectionCall(ServerConnection& connection,
                               const FrameHeader& header, MessagePrefix prefix,
                               MonotonicTime arrived, Duration timeout)
    : connection_(connection),
      header_(header),
      prefix_(std::move(prefix)),
      timeout_(timeout),
      last_received_(arrived),
      unreceived_(header.attachment_bytes),
      unannounced_(IsInline(header) ? 0 : header.attachment_bytes),
      waiter_(connection.executor()) {}

const Hello& ConnectionCall::peer() const { return connection_.peer(); }

MonotonicTime ConnectionCall::deadline() const {
  const MonotonicTime last =
      receiving_ ? std::max(last_received_, connection_.reader().last_read())
                 : last_received_;
  return last + timeout_;
}

bool ConnectionCall::cancelled() const {
  return !cancel_reason_.ok() || connection_.core().clock.Now() >= deadline();
}

void ConnectionCall::OnCancel(std::function<void()> listener) {
  if (cancelled()) {
    listener();
    return;
  }
  listener_ = std::move(listener);
  connection_.WatchDeadline(*this);
}

void ConnectionCall::Cancel(absl::Status why) {
  if (!cancel_reason_.ok()) return;
  cancel_reason_ = std::move(why);
  std::function<void()> listener = std::move(listener_);
  listener_ = nullptr;
  if (listener) listener();
}

void ConnectionCall::Abort(absl::Status why) {
  if (!abort_reason_.ok()) return;
  abort_reason_ = std::move(why);
  unannounced_ = 0;
  waiter_.Wake();
}

void ConnectionCall::OfferPiece(uint64_t bytes) {
  piece_left_ = bytes;
  unannounced_ -= bytes;
  waiter_.Wake();
}

Task<absl::Status> ConnectionCall::Receive(MutableBytes into) {
  if (into.size() > unreceived_) {
    co_return absl::OutOfRangeError(
        absl::StrCat("the request has ", unreceived_,
                     " bytes of attachments left, not ", into.size()));
  }
  if (IsInline(header_)) {
    const size_t offset = inline_data_.size() - unreceived_;
    if (!into.empty()) {
      std::memcpy(into.data(), inline_data_.data() + offset, into.size());
    }
    unreceived_ -= into.size();
    co_return absl::OkStatus();
  }
  FrameReader& reader = connection_.reader();
  while (!into.empty()) {
    while (piece_left_ == 0 && abort_reason_.ok()) co_await waiter_.Sleep();
    if (piece_left_ == 0) co_return abort_reason_;
    const MutableBytes part = into.first(
        static_cast<size_t>(std::min<uint64_t>(into.size(), piece_left_)));
    // At the end of a piece, the next header is read along. In the middle,
    // reading ahead pays only for a service that asks for little at a time.
    size_t ahead =
        part.size() < FrameReader::kReadAhead ? FrameReader::kReadAhead : 0;
    if (part.size() == piece_left_) ahead = kHeaderBytes;
    receiving_ = true;
    absl::Status status = co_await reader.Read(part, ahead);
    receiving_ = false;
    last_received_ = std::max(last_received_, reader.last_read());
    if (!status.ok()) {
      connection_.Fail(status);
      co_return status;
    }
    into = into.subspan(part.size());
    unreceived_ -= part.size();
    piece_left_ -= part.size();
    if (piece_left_ == 0) connection_.PieceDone();
  }
  co_return absl::OkStatus();
}

Task<absl::StatusOr<Buffer>> ConnectionCall::ReceiveAll() {
  const uint64_t bytes = unreceived_;
  if (IsInline(header_)) {
    // Already counted; handed over without a copy if nothing was received yet.
    if (bytes == inline_data_.size()) {
      unreceived_ = 0;
      co_return std::move(inline_data_);
    }
  } else {
    // Acquire from the connection's own budget first, so that a call waiting
    // for it holds nothing that others wait for.
    ServerCore& core = connection_.core();
    ByteBudget& mine = connection_.bodies();
    const uint64_t limit = std::min(core.bodies.limit(), mine.limit());
    if (bytes > limit) {
      co_return absl::ResourceExhaustedError(absl::StrCat(
          "the request's attachments of ", bytes,
          " bytes exceed the server's memory for requests, ", limit));
    }
    const Executor executor = connection_.executor();
    if (!mine.TryAcquire(bytes)) co_await mine.Acquire(executor, bytes);
    connection_bytes_ = HeldBytes(mine, bytes);
    if (!core.bodies.TryAcquire(bytes)) {
      co_await core.bodies.Acquire(executor, bytes);
    }
    body_bytes_ = HeldBytes(core.bodies, bytes);
    core.counters.bytes_in_flight += bytes;
  }
  absl::StatusOr<Buffer> buffer =
      Buffer::Allocate(static_cast<size_t>(bytes), Fill::kNone);
  if (!buffer.ok()) co_return buffer.status();
  MutableBytes into = buffer->mutable_bytes();
  absl::Status status = co_await Receive(into);
  if (!status.ok()) co_return status;
  co_return buffer;
}

}  // namespace capstan
