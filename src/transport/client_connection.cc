#include "transport/client_connection.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "wire/error_body.h"

namespace capstan {
namespace {

uint64_t MicrosecondsUntil(MonotonicTime deadline, MonotonicTime now) {
  const Duration left = std::max(deadline - now, Duration(1000));
  return static_cast<uint64_t>(
      std::chrono::ceil<std::chrono::microseconds>(left).count());
}

}  // namespace

ClientConnection::ClientConnection(Clock& clock, const Executor& executor,
                                   std::unique_ptr<Stream> stream,
                                   std::unique_ptr<FrameReader> reader,
                                   LivenessOptions liveness)
    : clock_(clock),
      executor_(executor),
      stream_(std::move(stream)),
      reader_(std::move(reader)),
      writer_(*stream_, clock, executor),
      liveness_(liveness),
      timer_(clock.NewTimer(executor)) {}

void ClientConnection::Start(std::function<void()> on_end) {
  on_end_ = std::move(on_end);
  Spawn(executor_, ReadLoop(shared_from_this()));
  Spawn(executor_, WriteLoop(shared_from_this()));
  Spawn(executor_, WatchLoop(shared_from_this()));
}

Task<> ClientConnection::ReadLoop(std::shared_ptr<ClientConnection> self) {
  while (!self->ended_) {
    self->reader_->set_message_begun(self->incoming_.remaining > 0);
    absl::StatusOr<FrameHeader> header = co_await self->reader_->ReadHeader();
    absl::Status status = header.status();
    if (status.ok()) {
      if (header->kind == FrameKind::kResponse) {
        status = co_await self->HandleResponse(*header);
      } else if (header->kind == FrameKind::kData) {
        status = co_await self->HandleData(*header);
      } else {
        status = self->HandleControl(*header);
      }
    }
    // Only here, between two frames, because the resumed call may do anything.
    if (CallState* completed = std::exchange(self->completed_, nullptr)) {
      completed->WakeNow();
    }
    if (!status.ok()) self->Fail(std::move(status));
  }
}

Task<> ClientConnection::WriteLoop(std::shared_ptr<ClientConnection> self) {
  absl::Status status = co_await self->writer_.Run();
  // After a failure the reader continues: answers may still be in flight, and
  // it sees the end of the stream, or the silence, by itself.
  if (status.ok() && self->said_goodbye_) self->stream_->Close();
}

Task<> ClientConnection::WatchLoop(std::shared_ptr<ClientConnection> self) {
  absl::Status status =
      co_await WatchLiveness(self->clock_, *self->timer_, *self->reader_,
                             self->writer_, self->liveness_, self->ended_);
  if (!status.ok()) self->Fail(std::move(status));
}

void ClientConnection::EndCalls(const absl::Status& status) {
  // Ending a call may remove entries from the map.
  std::vector<uint64_t> ids;
  for (const auto& [id, pending] : pending_) ids.push_back(id);
  // In the order of the requests: simulation must not depend on the map's
  // order.
  std::sort(ids.begin(), ids.end());
  for (const uint64_t id : ids) {
    const auto found = pending_.find(id);
    if (found != pending_.end()) found->second->state->End(status);
  }
}

void ClientConnection::Fail(absl::Status reason) {
  if (ended_) return;
  std::shared_ptr<ClientConnection> self = shared_from_this();
  ended_ = true;
  // To a caller, any failure of the connection means that the peer is gone.
  if (said_goodbye_) {
    reason_ = absl::CancelledError("the channel was closed");
  } else if (absl::IsUnavailable(reason) || absl::IsCancelled(reason)) {
    reason_ = std::move(reason);
  } else {
    reason_ = absl::UnavailableError(
        absl::StrCat("connection given up: ", reason.message()));
  }
  if (reading_ != nullptr) reading_->destination->abandoned = true;
  EndCalls(reason_);
  stream_->Close();
  writer_.Stop();
  timer_->Cancel();
  // Move it out first: the callback may drop the last other reference to this.
  std::function<void()> on_end = std::move(on_end_);
  if (on_end) on_end();
}

void ClientConnection::SayGoodbye() {
  if (ended_ || said_goodbye_) return;
  said_goodbye_ = leaving_ = true;
  EndCalls(absl::CancelledError("the channel was closed"));
  FrameHeader goodbye;
  goodbye.kind = FrameKind::kGoodbye;
  writer_.SendControl(goodbye);
  writer_.Stop();
}

Task<absl::StatusOr<Reply>> ClientConnection::Call(CallState& state,
                                                   ClientRequest& request) {
  std::shared_ptr<ClientConnection> self = shared_from_this();
  if (ended_) co_return reason_;
  const uint64_t id = ++last_id_;
  FrameHeader header;
  header.kind = FrameKind::kRequest;
  header.code = static_cast<uint16_t>(request.method);
  header.request_id = id;
  header.timeout_us = MicrosecondsUntil(request.deadline, clock_.Now());
  header.reply_limit = request.reply_limit;
  auto message = std::make_shared<OutgoingMessage>(
      header, request.body, std::move(request.attachments), nullptr);
  request.body.clear();

  Pending pending;
  pending.state = &state;
  pending.request = &request;
  // Also when the coroutine is destroyed before it ends.
  const absl::Cleanup forget = [this, id] { pending_.erase(id); };
  pending_.emplace(id, &pending);
  writer_.Send(message, /*alone=*/pending_.size() == 1);
  while (!pending.done && !state.ended()) co_await state.Sleep();
  pending_.erase(id);
  if (!pending.done) co_await StopReceiving(pending);
  // An early refusal may arrive before the whole request is sent.
  const bool sent = message->started();
  if (!message->released()) co_await writer_.Withdraw(message);
  if (pending.done) {
    if (!pending.status.ok()) co_return pending.status;
    co_return std::move(pending.reply);
  }
  if (sent) SendCancel(id);
  co_return state.status();
}

Task<> ClientConnection::StopReceiving(Pending& pending) {
  if (incoming_.pending == &pending) incoming_.pending = nullptr;
  pending.destination->abandoned = true;
  if (reading_ == &pending && !ended_) {
    CallState* state = pending.state;
    pending.destination->released = [this, state] {
      reading_ = nullptr;
      state->Wake();
    };
    stream_->Interrupt();
    while (reading_ == &pending && !ended_) co_await state->Sleep();
    pending.destination->released = nullptr;
  }
  // Nothing more is read from a connection that has ended, but the suspended
  // reader will resume, and must not find this call, which is gone by then.
  if (reading_ == &pending) reading_ = nullptr;
}

void ClientConnection::SendCancel(uint64_t request_id) {
  if (ended_ || said_goodbye_) return;
  FrameHeader cancel;
  cancel.kind = FrameKind::kCancel;
  cancel.request_id = request_id;
  writer_.SendControl(cancel);
}

absl::Status ClientConnection::HandleControl(const FrameHeader& header) {
  switch (header.kind) {
    case FrameKind::kAbort:
      return HandleAbort(header);
    case FrameKind::kPing: {
      FrameHeader pong;
      pong.kind = FrameKind::kPong;
      writer_.SendControl(pong);
      return absl::OkStatus();
    }
    case FrameKind::kPong:
      return absl::OkStatus();
    case FrameKind::kGoodbye:
      leaving_ = true;
      return absl::OkStatus();
    default:
      return Malformed(header, "not a frame for a caller");
  }
}

Task<absl::Status> ClientConnection::HandleResponse(FrameHeader header) {
  const uint64_t id = header.request_id;
  if (id == 0 || id > last_id_) {
    co_return Malformed(header, "answers a request that was never sent");
  }
  if (header.code != 0 && header.attachment_count > 0) {
    co_return Malformed(header, "an error with attachments");
  }
  if (!IsInline(header) && incoming_.remaining > 0) {
    co_return Malformed(header, "begins before the one under way has ended");
  }
  std::optional<absl::StatusOr<MessagePrefix>> prefix =
      reader_->TryReadPrefix(header);
  if (!prefix) prefix = co_await reader_->ReadPrefix(header);
  if (!prefix->ok()) co_return prefix->status();
  // Look the call up only now, because it may have ended while the prefix was
  // read. If it is not found, it has ended and its answer is too late.
  const auto found = pending_.find(id);
  Pending* pending = found == pending_.end() ? nullptr : found->second;
  if (pending != nullptr && (pending->done || incoming_.pending == pending)) {
    co_return Malformed(header, "answers a request twice");
  }
  if (pending != nullptr && header.code != 0) {
    Complete(pending, DecodeError(header.code, (*prefix)->body));
    co_return absl::OkStatus();
  }
  if (pending != nullptr) {
    absl::Status placed = Place(*pending, header, (*prefix)->lengths);
    if (placed.ok()) {
      pending->reply.body = std::move((*prefix)->body);
    } else {
      Complete(pending, std::move(placed));
      // Through the executor's queue, because its attachments must still be
      // skipped.
      std::exchange(completed_, nullptr)->Wake();
      pending = nullptr;
    }
  }
  if (!IsInline(header)) {
    incoming_ = {id, 0, header.attachment_bytes, pending};
    co_return absl::OkStatus();
  }
  if (pending != nullptr && pending->destination->views.size() == 1 &&
      reader_->TryRead(pending->destination->views[0])) {
    Complete(pending, absl::OkStatus());
    co_return absl::OkStatus();
  }
  absl::Status status = co_await ReadFor(pending, 0, header.attachment_bytes);
  if (!status.ok()) co_return status;
  if (pending != nullptr && pending_.contains(id)) {
    Complete(pending, absl::OkStatus());
  }
  co_return absl::OkStatus();
}

Task<absl::Status> ClientConnection::HandleData(FrameHeader header) {
  if (incoming_.remaining < header.attachment_bytes ||
      incoming_.request_id != header.request_id) {
    co_return Malformed(header, "a piece that nobody announced");
  }
  absl::Status status = co_await ReadFor(incoming_.pending, incoming_.offset,
                                         header.attachment_bytes);
  if (!status.ok()) co_return status;
  incoming_.offset += header.attachment_bytes;
  incoming_.remaining -= header.attachment_bytes;
  if (incoming_.remaining == 0 && incoming_.pending != nullptr) {
    Complete(std::exchange(incoming_.pending, nullptr), absl::OkStatus());
  }
  co_return absl::OkStatus();
}

absl::Status ClientConnection::HandleAbort(const FrameHeader& header) {
  if (incoming_.remaining == 0 || incoming_.request_id != header.request_id) {
    return Malformed(header, "nothing to abort");
  }
  incoming_.remaining = 0;
  if (incoming_.pending != nullptr) {
    Complete(std::exchange(incoming_.pending, nullptr),
             absl::UnavailableError("the answer was broken off"));
  }
  return absl::OkStatus();
}

absl::Status ClientConnection::Place(Pending& pending,
                                     const FrameHeader& header,
                                     const std::vector<uint64_t>& lengths) {
  const ClientRequest& request = *pending.request;
  std::vector<MutableBytes>& views = pending.destination->views;
  if (request.receive_into) {
    const std::vector<MutableBytes>& places = *request.receive_into;
    if (places.size() != lengths.size()) {
      return absl::InvalidArgumentError(
          absl::StrCat("the answer has ", lengths.size(), " attachments, but ",
                       places.size(), " were expected"));
    }
    for (size_t i = 0; i < lengths.size(); ++i) {
      if (lengths[i] > places[i].size()) {
        return absl::InvalidArgumentError(
            absl::StrCat("attachment ", i, " of the answer has ", lengths[i],
                         " bytes, but there is room for ", places[i].size()));
      }
      views.push_back(places[i].first(static_cast<size_t>(lengths[i])));
    }
  } else {
    if (header.attachment_bytes > request.reply_limit) {
      return absl::ResourceExhaustedError(absl::StrCat(
          "the answer has ", header.attachment_bytes,
          " bytes of attachments, but the call allows ", request.reply_limit));
    }
    absl::StatusOr<Buffer> buffer = Buffer::Allocate(
        static_cast<size_t>(header.attachment_bytes), Fill::kNone);
    if (!buffer.ok()) return buffer.status();
    pending.reply.storage = *std::move(buffer);
    MutableBytes left = pending.reply.storage.mutable_bytes();
    for (const uint64_t length : lengths) {
      views.push_back(left.first(static_cast<size_t>(length)));
      left = left.subspan(static_cast<size_t>(length));
    }
  }
  pending.reply.attachments = views;
  return absl::OkStatus();
}

Task<absl::Status> ClientConnection::ReadFor(Pending* pending, uint64_t offset,
                                             uint64_t bytes) {
  if (pending == nullptr) co_return co_await reader_->Skip(bytes);
  if (bytes == 0) co_return absl::OkStatus();
  reading_ = pending;
  std::shared_ptr<Destination> destination = pending->destination;
  absl::Status status =
      co_await reader_->ReadInto(std::move(destination), offset, bytes);
  // If reading_ differs, the memory was released already, and `pending` may be
  // gone.
  if (reading_ == pending) {
    reading_ = nullptr;
    // All bytes had arrived before the interruption, so end StopReceiving's
    // wait.
    if (pending->destination->abandoned) pending->state->Wake();
  }
  co_return status;
}

void ClientConnection::Complete(Pending* pending, absl::Status status) {
  answered_ = true;
  pending->status = std::move(status);
  pending->done = true;
  completed_ = pending->state;
}

}  // namespace capstan
