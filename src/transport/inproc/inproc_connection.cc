#include "transport/inproc/inproc_connection.h"

#include <asio/post.hpp>

#include "absl/status/status.h"

namespace capstan {

void InprocConnection::Attach(Side side, Sleepers* sleepers) {
  std::lock_guard lock(mutex_);
  ends_[side].sleepers = sleepers;
  const Sleepers* other = ends_[Other(side)].sleepers;
  same_executor_ =
      other != nullptr && other->executor() == sleepers->executor();
}

std::optional<InprocConnection::Result> InprocConnection::StartRead(
    Side side, std::span<const MutableBytes> into) {
  std::lock_guard lock(mutex_);
  InprocPipe& pipe = InTo(side);
  if (!ends_[side].closed) {
    pipe.OfferRead(into);
    pipe.Move();
    if (pipe.written() > 0) WakeWriter(Other(side));
  }
  if (!ReadReadyLocked(side)) return std::nullopt;
  return FinishReadLocked(side);
}

std::optional<InprocConnection::Result> InprocConnection::StartWrite(
    Side side, std::span<const Bytes> from) {
  std::lock_guard lock(mutex_);
  InprocPipe& pipe = OutOf(side);
  if (!WriteReadyLocked(side)) {
    pipe.OfferWrite(from);
    pipe.Move();
    if (pipe.read() > 0) WakeReader(Other(side));
  }
  if (!WriteReadyLocked(side)) return std::nullopt;
  return FinishWriteLocked(side);
}

bool InprocConnection::ReadReady(Side side) const {
  std::lock_guard lock(mutex_);
  return ReadReadyLocked(side);
}

bool InprocConnection::WriteReady(Side side) const {
  std::lock_guard lock(mutex_);
  return WriteReadyLocked(side);
}

InprocConnection::Result InprocConnection::FinishRead(Side side) {
  std::lock_guard lock(mutex_);
  return FinishReadLocked(side);
}

InprocConnection::Result InprocConnection::FinishWrite(Side side) {
  std::lock_guard lock(mutex_);
  return FinishWriteLocked(side);
}

void InprocConnection::Close(Side side) {
  std::lock_guard lock(mutex_);
  if (ends_[side].closed) return;
  ends_[side].closed = true;
  ends_[side].sleepers = nullptr;
  // The other end can still read what this end has buffered.
  OutOf(side).WithdrawWrite();
  InTo(side).WithdrawRead();
  InTo(side).DropBuffered();
  WakeReader(Other(side));
  WakeWriter(Other(side));
}

bool InprocConnection::ReadReadyLocked(Side side) const {
  return InTo(side).read() > 0 || ends_[side].closed ||
         ends_[Other(side)].closed;
}

bool InprocConnection::WriteReadyLocked(Side side) const {
  return OutOf(side).written() > 0 || ends_[side].closed ||
         ends_[Other(side)].closed;
}

InprocConnection::Result InprocConnection::FinishReadLocked(Side side) {
  const size_t count = InTo(side).WithdrawRead();
  if (ends_[side].closed) return absl::UnavailableError("closed");
  if (count == 0 && ends_[Other(side)].closed) {
    return absl::UnavailableError("the peer has closed the connection");
  }
  return count;
}

InprocConnection::Result InprocConnection::FinishWriteLocked(Side side) {
  const size_t count = OutOf(side).WithdrawWrite();
  if (ends_[side].closed) return absl::UnavailableError("closed");
  if (ends_[Other(side)].closed) {
    return absl::UnavailableError("the peer has closed the connection");
  }
  return count;
}

void InprocConnection::WakeReader(Side side) {
  Wake(side, &Sleepers::reader, &End::reader_wake_posted);
}

void InprocConnection::WakeWriter(Side side) {
  Wake(side, &Sleepers::writer, &End::writer_wake_posted);
}

void InprocConnection::Wake(Side side, Waiter Sleepers::*sleeper,
                            bool End::*wake_posted) {
  End& end = ends_[side];
  if (end.sleepers == nullptr || end.*wake_posted) return;
  if (same_executor_) {
    (end.sleepers->*sleeper).Wake();
    return;
  }
  // The end is still attached, so its executor exists and can be posted to. The
  // end may be closed by the time the callback runs, but on the same thread, so
  // the check in the callback is safe.
  end.*wake_posted = true;
  asio::post(end.sleepers->executor(),
             [self = shared_from_this(), side, sleeper, wake_posted] {
               std::lock_guard lock(self->mutex_);
               End& woken = self->ends_[side];
               woken.*wake_posted = false;
               if (woken.sleepers == nullptr) return;
               (woken.sleepers->*sleeper).Wake();
             });
}

}  // namespace capstan
