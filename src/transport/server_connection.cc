#include "transport/server_connection.h"

#include <algorithm>
#include <exception>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "transport/handshake.h"
#include "transport/keepalive.h"
#include "transport/server_core.h"
#include "wire/error_body.h"

namespace capstan {
namespace {

// The bytes of a request held in memory before it is served.
uint64_t HeadBytes(const FrameHeader& header) {
  return PrefixBytes(header) + (IsInline(header) ? header.attachment_bytes : 0);
}

ServerReply ErrorReply(absl::Status status) {
  ServerReply reply;
  reply.status = std::move(status);
  return reply;
}

}  // namespace

ServerConnection::ServerConnection(std::shared_ptr<ServerCore> core,
                                   const Executor& executor,
                                   std::unique_ptr<Stream> stream)
    : core_(std::move(core)),
      executor_(executor),
      stream_(std::move(stream)),
      reader_(*stream_, core_->clock, core_->options.limits),
      writer_(*stream_, core_->clock, executor),
      deadlines_(core_->clock, executor),
      timer_(core_->clock.NewTimer(executor)),
      bodies_(core_->options.connection_bytes),
      piece_waiter_(executor),
      slot_waiter_(executor) {}

std::string ServerConnection::description() const {
  return greeted_
             ? absl::StrCat(TaskName(peer_), " at ", stream_->peer_address())
             : stream_->peer_address();
}

Task<> ServerConnection::Run(std::shared_ptr<ServerConnection> self,
                             absl::Status refusal) {
  ServerCore& core = *self->core_;
  absl::Status status = co_await self->Handshake(std::move(refusal));
  if (status.ok()) {
    Spawn(self->executor_, WriteLoop(self));
    Spawn(self->executor_, WatchLoop(self));
    status = co_await self->ReadRequests();
  }
  if (self->greeted_) {
    core.RemoveLane(self->peer_.session, self->peer_.lane, self.get());
  }
  self->Fail(status);
  if (self->greeted_) core.service.OnDisconnect(self->peer_);
  // A shutdown waits for requests, not just for connections.
  while (!self->calls_.empty()) co_await self->slot_waiter_.Sleep();
  core.Remove(self);
}

Task<absl::Status> ServerConnection::Handshake(absl::Status refusal) {
  const MonotonicTime deadline =
      core_->clock.Now() + core_->options.handshake_timeout;
  const DeadlineQueue::Registration limit(deadlines_, deadline, [this] {
    stalled_ = true;
    stream_->Close();
  });
  absl::StatusOr<Hello> hello = co_await AwaitHello(reader_);
  if (!hello.ok()) {
    if (stalled_) co_return absl::UnavailableError("said no hello in time");
    co_return hello.status();
  }
  if (refusal.ok()) {
    refusal = CheckHello(core_->options.self, *hello, "");
  }
  if (refusal.ok()) refusal = CheckCertificate(*stream_, *hello);
  if (refusal.ok()) {
    refusal = CheckToken(*stream_, core_->options.self, *hello);
  }
  hello->token.clear();
  // Add the lane before the welcome, after which the caller opens its bulk
  // lane. A bulk lane without a small one would not be monitored.
  if (refusal.ok() &&
      !core_->AddLane(hello->session, hello->lane, shared_from_this())) {
    co_return absl::UnavailableError("its session is over");
  }
  if (!refusal.ok()) {
    ++core_->counters.connections_refused;
    core_->TurnAway(
        absl::StrCat(TaskName(*hello), " at ", stream_->peer_address()),
        refusal);
    refusal = RefusalForCaller(core_->options.self, *hello, refusal);
    absl::Status ignored = co_await SendRefusal(*stream_, refusal);
    (void)ignored;
    co_return absl::CancelledError("refused");
  }
  peer_ = *std::move(hello);
  greeted_ = true;
  co_return co_await SendWelcome(*stream_, core_->options.self);
}

Task<absl::Status> ServerConnection::ReadRequests() {
  while (!ended_) {
    reader_.set_message_begun(incoming_ != nullptr);
    absl::StatusOr<FrameHeader> header = co_await reader_.ReadHeader();
    if (!header.ok()) co_return header.status();
    absl::Status status;
    if (header->kind == FrameKind::kRequest) {
      status = co_await HandleRequest(*header);
    } else if (header->kind == FrameKind::kData) {
      status = co_await HandleData(*header);
    } else {
      status = HandleControl(*header);
    }
    if (!status.ok()) co_return status;
  }
  co_return reason_;
}

Task<> ServerConnection::WriteLoop(std::shared_ptr<ServerConnection> self) {
  absl::Status status = co_await self->writer_.Run();
  // If stopped, everything is written and the connection may end. If failed,
  // the reader sees the failure too, after the peer's remaining frames.
  if (status.ok()) self->stream_->Close();
}

Task<> ServerConnection::WatchLoop(std::shared_ptr<ServerConnection> self) {
  LivenessOptions options;
  options.keepalive = self->core_->options.keepalive;
  options.stall_timeout = self->core_->options.stall_timeout;
  options.ping = self->peer_.lane == Lane::kSmall;
  absl::Status status =
      co_await WatchLiveness(self->core_->clock, *self->timer_, self->reader_,
                             self->writer_, options, self->ended_);
  if (status.ok()) co_return;
  self->stalled_ = true;
  self->Fail(std::move(status));
}

void ServerConnection::Fail(absl::Status reason) {
  if (ended_) return;
  ended_ = true;
  reason_ = std::move(reason);
  // A refusal by TLS; Handshake handles the others with more detail.
  const bool refused = !greeted_ && absl::IsUnauthenticated(reason_);
  const bool malformed = absl::IsInvalidArgument(reason_);
  if (refused) ++core_->counters.connections_refused;
  if (malformed) ++core_->counters.malformed;
  if (stalled_ && !malformed) ++core_->counters.stalled;
  if (!refused && !malformed && !stalled_) {
    core_->logger.Debug("connection from {} ended: {}", description(),
                        Describe(reason_));
  } else if (greeted_) {
    core_->Complain(description(), reason_);
  } else {
    core_->TurnAway(description(), reason_);
  }
  stream_->Close();
  writer_.Stop();
  timer_->Cancel();
  const absl::Status gone = absl::UnavailableError("the caller has gone");
  const auto calls = calls_;
  for (const auto& [id, call] : calls) {
    call->Abort(gone);
    call->Cancel(gone);
  }
  piece_waiter_.Wake();
  slot_waiter_.Wake();
}

void ServerConnection::Leave() {
  if (leaving_ || ended_) return;
  leaving_ = true;
  FrameHeader goodbye;
  goodbye.kind = FrameKind::kGoodbye;
  writer_.SendControl(goodbye);
  LeaveIfDone();
}

void ServerConnection::LeaveIfDone() {
  if (!leaving_ || !calls_.empty()) return;
  if (greeted_ && peer_.lane == Lane::kSmall &&
      core_->HasLane(peer_.session, Lane::kBulk)) {
    return;
  }
  writer_.Stop();
}

absl::Status ServerConnection::HandleControl(const FrameHeader& header) {
  switch (header.kind) {
    case FrameKind::kAbort:
      return HandleAbort(header);
    case FrameKind::kCancel:
      HandleCancel(header);
      return absl::OkStatus();
    case FrameKind::kPing: {
      FrameHeader pong;
      pong.kind = FrameKind::kPong;
      writer_.SendControl(pong);
      return absl::OkStatus();
    }
    case FrameKind::kPong:
    case FrameKind::kGoodbye:
      return absl::OkStatus();
    default:
      return Malformed(header, "not a frame for a server");
  }
}

std::optional<HeldBytes> ServerConnection::TryAdmit(const FrameHeader& header) {
  const uint64_t bytes = HeadBytes(header);
  if (!HasRoom(bytes) || !core_->heads.TryAcquire(bytes)) return std::nullopt;
  return HeldBytes(core_->heads, bytes);
}

bool ServerConnection::HasRoom(uint64_t bytes) const {
  // A single request may exceed the connection's limit.
  const ServerOptions& options = core_->options;
  return static_cast<int>(calls_.size()) <
             options.max_requests_per_connection &&
         (held_ == 0 || held_ + bytes <= options.connection_bytes);
}

Task<absl::StatusOr<HeldBytes>> ServerConnection::Admit(
    const FrameHeader& header) {
  const uint64_t bytes = HeadBytes(header);
  if (bytes > core_->heads.limit()) {
    co_return absl::InvalidArgumentError(
        absl::StrCat(ToString(header), ": ", bytes,
                     " bytes exceed the server's memory for requests, ",
                     core_->heads.limit()));
  }
  while (!ended_ && !HasRoom(bytes)) co_await slot_waiter_.Sleep();
  if (ended_) co_return reason_;
  if (!core_->heads.TryAcquire(bytes)) {
    co_await core_->heads.Acquire(executor_, bytes);
  }
  co_return HeldBytes(core_->heads, bytes);
}

Task<absl::Status> ServerConnection::HandleRequest(FrameHeader header) {
  if (calls_.contains(header.request_id)) {
    co_return Malformed(header, "the id of a request under way");
  }
  if (!IsInline(header) && incoming_ != nullptr) {
    co_return Malformed(header, "begins before the one under way has ended");
  }
  const MonotonicTime now = core_->clock.Now();
  const auto timeout = std::chrono::microseconds(static_cast<int64_t>(
      std::min<uint64_t>(header.timeout_us, uint64_t{1} << 50)));
  std::optional<HeldBytes> admitted = TryAdmit(header);
  if (!admitted) {
    absl::StatusOr<HeldBytes> waited = co_await Admit(header);
    if (!waited.ok()) co_return waited.status();
    admitted = *std::move(waited);
  }
  std::optional<absl::StatusOr<MessagePrefix>> prefix =
      reader_.TryReadPrefix(header);
  if (!prefix) prefix = co_await reader_.ReadPrefix(header);
  if (!prefix->ok()) co_return prefix->status();
  auto call = std::make_shared<ConnectionCall>(
      *this, header, **std::move(prefix), now, timeout);
  const uint64_t held = admitted->bytes();
  call->Hold(*std::move(admitted));
  if (IsInline(header) && header.attachment_bytes > 0) {
    absl::StatusOr<Buffer> buffer = Buffer::Allocate(
        static_cast<size_t>(header.attachment_bytes), Fill::kNone);
    if (!buffer.ok()) co_return buffer.status();
    MutableBytes into = buffer->mutable_bytes();
    if (!reader_.TryRead(into)) {
      absl::Status status = co_await reader_.Read(into);
      if (!status.ok()) co_return status;
    }
    call->inline_data() = *std::move(buffer);
  }
  if (ended_) co_return reason_;
  ++core_->counters.requests;
  held_ += held;
  core_->counters.bytes_in_flight += held;
  calls_.emplace(call->id(), call);
  if (!IsInline(header)) incoming_ = call;
  Spawn(executor_, ServeCall(shared_from_this(), std::move(call)));
  co_return absl::OkStatus();
}

Task<absl::Status> ServerConnection::HandleData(FrameHeader header) {
  if (incoming_ == nullptr || incoming_->id() != header.request_id ||
      incoming_->unannounced() < header.attachment_bytes) {
    co_return Malformed(header, "a piece that nobody announced");
  }
  // The service reads the piece itself, at its own pace.
  const std::shared_ptr<ConnectionCall> call = incoming_;
  call->OfferPiece(header.attachment_bytes);
  if (call->unannounced() == 0) incoming_ = nullptr;
  while (call->piece_left() > 0 && !call->finished() && !ended_) {
    co_await piece_waiter_.Sleep();
  }
  if (ended_) co_return reason_;
  co_return co_await reader_.Skip(call->piece_left());
}

absl::Status ServerConnection::HandleAbort(const FrameHeader& header) {
  if (incoming_ == nullptr || incoming_->id() != header.request_id) {
    return Malformed(header, "nothing to abort");
  }
  incoming_->Abort(absl::CancelledError("the caller broke the request off"));
  incoming_ = nullptr;
  return absl::OkStatus();
}

void ServerConnection::HandleCancel(const FrameHeader& header) {
  // An unknown id was answered already: the cancel and the answer crossed.
  const auto found = calls_.find(header.request_id);
  if (found == calls_.end()) return;
  const std::shared_ptr<ConnectionCall> call = found->second;
  call->Cancel(absl::CancelledError("the caller cancelled the request"));
}

void ServerConnection::WatchDeadline(ConnectionCall& call) {
  if (call.deadline_key()) return;
  const uint64_t id = call.id();
  call.deadline_key() = deadlines_.Add(call.deadline(), [this, id] {
    const auto found = calls_.find(id);
    if (found == calls_.end()) return;
    const std::shared_ptr<ConnectionCall> late = found->second;
    late->deadline_key().reset();
    if (core_->clock.Now() < late->deadline()) {
      WatchDeadline(*late);
    } else {
      late->Cancel(absl::DeadlineExceededError("the caller's timeout expired"));
    }
  });
}

Task<> ServerConnection::ServeCall(std::shared_ptr<ServerConnection> self,
                                   std::shared_ptr<ConnectionCall> given) {
  // A local is destroyed before the parameters when the context is destroyed,
  // and this one releases bytes to the connection's budget.
  const std::shared_ptr<ConnectionCall> call = std::move(given);
  ServerReply reply;
  if (self->leaving_) {
    reply.status = absl::UnavailableError("the server is shutting down");
  } else {
    try {
      reply = co_await self->core_->service.Serve(*call);
    } catch (const std::exception& error) {
      // A service may run user code, whose bugs must not end the process.
      reply = ErrorReply(absl::InternalError(
          absl::StrCat("the service threw: ", error.what())));
    }
  }
  call->Finish();
  if (call->deadline_key()) self->deadlines_.Remove(*call->deadline_key());
  self->Reply(*call, std::move(reply));
  const uint64_t held = call->head_bytes();
  self->held_ -= held;
  self->core_->counters.bytes_in_flight -= held + call->body_bytes();
  self->calls_.erase(call->id());
  self->piece_waiter_.Wake();
  self->slot_waiter_.Wake();
  self->LeaveIfDone();
}

void ServerConnection::Reply(const ConnectionCall& call, ServerReply reply) {
  if (ended_ || call.caller_gone()) return;
  // The caller may still be waiting, if other transfers on its lane progress.
  if (call.cancelled() && absl::IsCancelled(reply.status)) {
    reply.status =
        absl::DeadlineExceededError("not finished within the caller's timeout");
  }
  if (reply.status.ok()) {
    const FrameLimits& limits = core_->options.limits;
    const uint64_t bytes = TotalSize(reply.attachments);
    if (bytes > call.reply_limit()) {
      reply = ErrorReply(absl::ResourceExhaustedError(
          absl::StrCat("the answer has ", bytes,
                       " bytes of attachments, but the caller allows ",
                       call.reply_limit())));
    } else if (reply.attachments.size() > limits.attachment_count ||
               reply.body.size() > limits.body_bytes) {
      reply = ErrorReply(absl::ResourceExhaustedError(
          absl::StrCat("the answer has ", reply.attachments.size(),
                       " attachments and a body of ", reply.body.size(),
                       " bytes; the limits are ", limits.attachment_count,
                       " and ", limits.body_bytes)));
    }
  }
  SendResponse(call.id(), std::move(reply));
}

void ServerConnection::SendResponse(uint64_t request_id, ServerReply reply) {
  FrameHeader header;
  header.kind = FrameKind::kResponse;
  header.code = static_cast<uint16_t>(reply.status.code());
  header.request_id = request_id;
  if (!reply.status.ok()) {
    reply.body =
        EncodeErrorBody(WithTask(reply.status, TaskName(core_->options.self)));
    reply.attachments.clear();
  }
  const bool alone = calls_.size() <= 1 && !reader_.has_more();
  writer_.Send(std::make_shared<OutgoingMessage>(header, reply.body,
                                                 std::move(reply.attachments),
                                                 std::move(reply.owner)),
               alone);
}

}  // namespace capstan
