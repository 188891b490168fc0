#include "transport/tls/tls_core.h"

#include <utility>

#include "base/status.h"
#include "transport/view_cursor.h"

namespace capstan {

TlsCore::TlsCore(Clock& clock, const Executor& executor,
                 std::shared_ptr<const TlsCredentials> credentials,
                 TlsRole role, std::unique_ptr<Stream> inner)
    : clock_(clock),
      executor_(executor),
      inner_(std::move(inner)),
      session_(std::move(credentials), role, clock.WallNow()),
      reader_(executor),
      writer_(executor),
      shutdown_(executor, [this] { context_gone_ = true; }) {}

absl::Status TlsCore::Usable(const absl::Status& failure) const {
  if (closed_) return absl::UnavailableError("the connection was closed");
  return failure;
}

Task<absl::Status> TlsCore::ReadInput(Self self) {
  const MutableBytes space = self->session_.InputSpace();
  const std::span<const MutableBytes> views(&space, 1);
  absl::StatusOr<size_t> count = co_await self->inner_->ReadSome(views);
  if (!count.ok()) co_return count.status();
  self->session_.AddInput(*count);
  co_return absl::OkStatus();
}

Task<absl::Status> TlsCore::WriteOutput(Self self) {
  const Bytes output = self->session_.FirstOutput();
  const std::span<const Bytes> views(&output, 1);
  absl::StatusOr<size_t> count = co_await self->inner_->WriteSome(views);
  if (!count.ok()) co_return count.status();
  self->session_.RemoveOutput(*count);
  co_return absl::OkStatus();
}

// The handshake.

void TlsCore::Start(const Self& self) {
  Spawn(self->executor_, RunHandshake(self));
}

Task<> TlsCore::RunHandshake(Self self) {
  absl::StatusOr<bool> done = false;
  while (done.ok() && !*done) {
    done = self->session_.Handshake();
    if (!done.ok()) break;
    absl::Status status;
    while (status.ok() && self->session_.has_output()) {
      status = co_await WriteOutput(self);
    }
    if (status.ok() && !*done) status = co_await ReadInput(self);
    if (!status.ok()) {
      self->EndHandshake(WithContext(
          status,
          "the connection ended during the TLS handshake, as with a peer "
          "without TLS"));
      co_return;
    }
  }
  self->EndHandshake(done.status());
  if (!done.ok()) co_await Drain(self);
}

void TlsCore::EndHandshake(const absl::Status& status) {
  state_ = status.ok() ? State::kOpen : State::kFailed;
  read_failure_ = status;
  write_failure_ = status;
  reader_.Wake();
  writer_.Wake();
}

Task<> TlsCore::Drain(Self self) {
  // Without an alert, as for a peer that does not speak TLS, nothing needs to
  // be delivered.
  if (self->closed_ || !self->session_.has_output()) co_return;
  self->draining_ = true;
  DeadlineQueue limits(self->clock_, self->executor_);
  const MonotonicTime end = self->clock_.Now() + kLingerTime;
  const DeadlineQueue::Registration limit(limits, end,
                                          [&self] { self->inner_->Close(); });
  absl::Status status;
  while (status.ok() && self->session_.has_output()) {
    status = co_await WriteOutput(self);
  }
  while (status.ok()) {
    const MutableBytes space = self->session_.InputSpace();
    const std::span<const MutableBytes> views(&space, 1);
    absl::StatusOr<size_t> count = co_await self->inner_->ReadSome(views);
    status = count.status();
  }
  self->inner_->Close();
}

Task<absl::Status> TlsCore::Handshake(Self self, MonotonicTime deadline) {
  bool late = false;
  DeadlineQueue limits(self->clock_, self->executor_);
  const DeadlineQueue::Registration limit(limits, deadline, [&] {
    late = true;
    self->reader_.Wake();
  });
  while (self->state_ == State::kHandshaking && !self->closed_ && !late) {
    co_await self->reader_.Sleep();
  }
  if (self->state_ == State::kHandshaking && late) {
    Close(self);
    co_return absl::UnavailableError("no TLS handshake in the time given");
  }
  co_return self->Usable(self->read_failure_);
}

// Reading and writing.

Task<absl::StatusOr<size_t>> TlsCore::Read(Self self,
                                           std::span<const MutableBytes> into) {
  if (ViewCursor(into).remaining() == 0) co_return size_t{0};
  self->read_interrupted_ = false;
  while (self->state_ == State::kHandshaking && !self->closed_) {
    if (self->read_interrupted_) co_return size_t{0};
    co_await self->reader_.Sleep();
  }
  for (;;) {
    const absl::Status usable = self->Usable(self->read_failure_);
    if (!usable.ok()) co_return usable;
    absl::StatusOr<size_t> count = self->session_.Decrypt(into);
    if (!count.ok()) self->read_failure_ = count.status();
    // Send an answer to a key update, or an alert that says what was wrong.
    StartFlush(self);
    if (!count.ok() || *count > 0 || self->read_interrupted_) co_return count;
    const absl::Status status = co_await ReadInput(self);
    if (!status.ok() && self->read_failure_.ok()) {
      self->read_failure_ = WithContext(
          status, "the connection was cut off, the peer has not closed it");
    }
  }
}

Task<absl::StatusOr<size_t>> TlsCore::Write(Self self,
                                            std::span<const Bytes> from) {
  if (ViewCursor(from).remaining() == 0) co_return size_t{0};
  self->write_interrupted_ = false;
  while (self->state_ == State::kHandshaking && !self->closed_) {
    if (self->write_interrupted_) co_return size_t{0};
    co_await self->writer_.Sleep();
  }
  // First flush what an interrupted write left, so that output stays bounded.
  if (self->session_.has_output()) co_await FlushInline(self);
  absl::Status usable = self->Usable(self->write_failure_);
  if (!usable.ok()) co_return usable;
  if (self->session_.has_output()) co_return size_t{0};
  absl::StatusOr<size_t> count = self->session_.Encrypt(from);
  if (!count.ok()) co_return count;
  co_await FlushInline(self);
  usable = self->Usable(self->write_failure_);
  if (!usable.ok()) co_return usable;
  co_return count;
}

Task<> TlsCore::FlushInline(Self self) {
  while (self->session_.has_output() && !self->write_interrupted_ &&
         self->Usable(self->write_failure_).ok()) {
    if (self->flushing_) {
      co_await self->writer_.Sleep();
      continue;
    }
    self->flushing_ = true;
    absl::Status status = co_await WriteOutput(self);
    self->flushing_ = false;
    if (!status.ok()) self->write_failure_ = std::move(status);
  }
  StartFlush(self);
}

void TlsCore::StartFlush(const Self& self) {
  if (self->flushing_) return;
  if (!self->session_.has_output() || !self->write_failure_.ok()) {
    if (self->closed_) self->inner_->Close();
    return;
  }
  self->flushing_ = true;
  Spawn(self->executor_, Flush(self));
}

Task<> TlsCore::Flush(Self self) {
  while (self->session_.has_output() && self->write_failure_.ok()) {
    absl::Status status = co_await WriteOutput(self);
    if (!status.ok()) self->write_failure_ = std::move(status);
  }
  self->flushing_ = false;
  self->linger_.reset();
  if (self->closed_) self->inner_->Close();
  self->writer_.Wake();
}

void TlsCore::Interrupt() {
  read_interrupted_ = true;
  write_interrupted_ = true;
  reader_.Wake();
  writer_.Wake();
  if (state_ == State::kOpen) inner_->Interrupt();
}

void TlsCore::Close(const Self& self) {
  if (self->closed_) return;
  self->closed_ = true;
  self->reader_.Wake();
  self->writer_.Wake();
  if (self->context_gone_ || self->state_ != State::kOpen) {
    if (self->context_gone_ || !self->draining_) self->inner_->Close();
    return;
  }
  self->session_.CloseNotify();
  self->inner_->Interrupt();
  StartFlush(self);
  if (!self->flushing_) return;
  self->linger_.emplace(self->clock_, self->executor_);
  self->linger_->Add(self->clock_.Now() + kLingerTime,
                     [core = self.get()] { core->inner_->Close(); });
}

}  // namespace capstan
