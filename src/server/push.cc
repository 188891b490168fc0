// Push: an update of whole shards.
//
// Each server refuses or applies it as a whole: nothing is applied before all
// of it has arrived and been checked. A large gradient is not buffered until
// then, as that would cost a pass through memory for each push. Instead it is
// applied, as it arrives, to memory beside the shard's own (StreamedUpdate),
// which replaces the shard's in the end.
#include <algorithm>
#include <asio/this_coro.hpp>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/request.h"
#include "server/verbs.h"
#include "wire/check_operands.h"

namespace capstan {
namespace {

// Gradients of at least this size are applied as they arrive.
constexpr uint64_t kStreamedBytes = 4 << 20;
// Received and applied at a time: fits into the second-level cache.
constexpr size_t kPushPieceBytes = 256 << 10;

bool CanStream(const ShardsCall& found, size_t i, uint64_t bytes) {
  return bytes >= kStreamedBytes &&
         found.request.operation == Operation::kGradient &&
         !std::holds_alternative<Sync>(found.shards[i]->spec().update);
}

absl::Status CheckPushSizes(const ServerCall& call, const ShardsCall& found) {
  const std::span<const uint64_t> sizes = call.attachment_sizes();
  if (sizes.size() != found.shards.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("an update of ", found.shards.size(), " shards with ",
                     sizes.size(), " attachments"));
  }
  for (size_t i = 0; i < sizes.size(); ++i) {
    CAPSTAN_RETURN_IF_ERROR(
        CheckUpdate(found, i, found.shards[i]->rows(), sizes[i]));
  }
  return absl::OkStatus();
}

absl::StatusOr<ShardUpdate> MakeUpdate(const ShardsCall& found, size_t i,
                                       Bytes values) {
  const Shard& shard = *found.shards[i];
  const ShardPart& part = found.request.parts[i];
  ShardUpdate update;
  update.id = found.request.id;
  update.operation = found.request.operation;
  update.dtype = part.dtype;
  update.scale = part.scale;
  update.based_on = part.version;
  update.values = values;
  const absl::StatusOr<bool> skip = CheckFinite(found, i, values, {}, 0);
  if (!skip.ok()) return skip.status();
  update.skip = *skip;
  if (update.operation != Operation::kGradient) {
    CAPSTAN_RETURN_IF_ERROR(WithContext(
        CheckOperands(part.dtype, update.operation, values), shard.Name()));
  }
  return update;
}

// A push of which some parts are large. Steps:
//   1. Begin: determines which parts can be applied as they arrive.
//   2. Receive: each part in turn is applied to separate memory as it arrives,
//      or kept whole if that is not possible.
//   3. Commit: when all parts have arrived and are valid, they take effect.
//   4. Abandon: otherwise none does.
class StreamedPush {
 public:
  StreamedPush(const ShardsCall& found, ServerCall& call, Executor home)
      : found_(found),
        call_(call),
        home_(std::move(home)),
        parts_(found.shards.size()) {}

  // False if no part can be streamed and none was applied before: then the push
  // is better received whole, into memory that counts against the server's
  // budget of bytes in flight. (Parts that are kept beside a stream do not
  // count; but there is at most one stream for each shard.)
  Task<bool> Begin() {
    bool any = false;
    for (size_t i = 0; i < parts_.size(); ++i) {
      if (!CanStream(found_, i, call_.attachment_sizes()[i])) continue;
      co_await BeginPart(i);
      any |= parts_[i].stream != nullptr || parts_[i].done;
    }
    co_return any;
  }

  Task<absl::Status> Receive() {
    absl::StatusOr<Buffer> piece =
        Buffer::Allocate(kPushPieceBytes, Fill::kNone);
    if (!piece.ok()) co_return piece.status();
    piece_ = *std::move(piece);
    for (size_t i = 0; i < parts_.size(); ++i) {
      const uint64_t size = call_.attachment_sizes()[i];
      absl::Status status;
      if (parts_[i].stream != nullptr) {
        status = co_await ReceiveStream(i, size);
      } else if (parts_[i].done) {
        status = co_await Discard(size);
      } else {
        status = co_await ReceiveWhole(i, size);
      }
      if (!status.ok()) {
        if (absl::IsInvalidArgument(status)) {
          co_await CountRefused(*found_.shards[i]);
        }
        co_return status;
      }
    }
    co_return absl::OkStatus();
  }

  Task<ServerReply> Commit() {
    UpdateAnswer answer(found_);
    const MonotonicTime patient_until = PatientUntil(found_);
    // The streams first: other updates wait for them, and they wait for
    // nothing.
    for (size_t i = 0; i < parts_.size(); ++i) {
      Part& part = parts_[i];
      if (part.stream == nullptr) continue;
      Shard& shard = *found_.shards[i];
      TurnEntry entry(home_, [&] {
        part.result.status = found_.store->CheckFence(found_.request.id.fence);
        if (part.result.status.ok()) {
          part.result = shard.CommitStream(*part.stream, part.update.skip,
                                           found_.generation->watermark);
        } else {
          shard.AbortStream(*part.stream);
        }
      });
      if (!shard.turn().Enter(entry)) co_await entry.Done();
      part.stream = nullptr;
      part.done = true;
    }
    for (size_t i = 0; i < parts_.size(); ++i) {
      Part& part = parts_[i];
      if (!part.done) {
        part.result =
            co_await ApplyInTurn(found_, i, part.update, patient_until, call_);
      }
      if (part.result.status.ok()) {
        part.result.status =
            co_await answer.Add(*found_.shards[i], part.result);
      }
      if (!part.result.status.ok()) co_return ErrorReply(part.result.status);
    }
    co_return answer.Take();
  }

  Task<> Abandon() {
    for (size_t i = 0; i < parts_.size(); ++i) {
      if (!CanStream(found_, i, call_.attachment_sizes()[i])) continue;
      Shard& shard = *found_.shards[i];
      Part& part = parts_[i];
      TurnEntry entry(home_, [&] {
        if (part.stream != nullptr) shard.AbortStream(*part.stream);
        // All parts, so that the push is not interrupted once for each of them.
        if (interrupted_) {
          shard.ExpectWhole(found_.request.id, found_.generation->watermark);
        }
      });
      if (!shard.turn().Enter(entry)) co_await entry.Done();
    }
  }

 private:
  struct Part {
    std::shared_ptr<StreamedUpdate> stream;
    ShardUpdate update;
    Buffer whole;  // the update, if it is not streamed
    bool done = false;
    ShardResult result;
  };

  Task<> BeginPart(size_t i) {
    Shard& shard = *found_.shards[i];
    Part& part = parts_[i];
    const ShardPart& asked = found_.request.parts[i];
    TurnEntry entry(home_, [&] {
      part.stream =
          shard.BeginStream(found_.request.id, asked.scale, asked.version,
                            found_.generation->watermark, part.result);
    });
    if (!shard.turn().Enter(entry)) co_await entry.Done();
    part.done = part.result.outcome == Outcome::kAlreadyApplied;
  }

  Task<absl::Status> ReceiveStream(size_t i, uint64_t size) {
    const Shard& shard = *found_.shards[i];
    const DType dtype = found_.request.parts[i].dtype;
    const size_t element = SizeOf(dtype);
    Part& part = parts_[i];
    for (uint64_t offset = 0; offset < size; offset += kPushPieceBytes) {
      const MutableBytes piece = piece_.mutable_bytes().first(
          std::min<uint64_t>(kPushPieceBytes, size - offset));
      absl::Status status = co_await call_.Receive(piece);
      if (!status.ok()) co_return status;
      const absl::StatusOr<bool> skip =
          CheckFinite(found_, i, piece, {}, offset / element);
      if (!skip.ok()) co_return skip.status();
      part.update.skip |= *skip;
      if (!part.update.skip) {
        status =
            shard.StreamPiece(*part.stream, offset / element, dtype, piece);
        interrupted_ = !status.ok();
        if (interrupted_) co_return status;
      }
    }
    co_return absl::OkStatus();
  }

  Task<absl::Status> Discard(uint64_t size) {
    for (uint64_t offset = 0; offset < size; offset += kPushPieceBytes) {
      const MutableBytes piece = piece_.mutable_bytes().first(
          std::min<uint64_t>(kPushPieceBytes, size - offset));
      absl::Status status = co_await call_.Receive(piece);
      if (!status.ok()) co_return status;
    }
    co_return absl::OkStatus();
  }

  Task<absl::Status> ReceiveWhole(size_t i, uint64_t size) {
    Part& part = parts_[i];
    absl::StatusOr<Buffer> whole = Buffer::Allocate(size, Fill::kNone);
    if (!whole.ok()) co_return whole.status();
    part.whole = *std::move(whole);
    absl::Status status = co_await call_.Receive(part.whole.mutable_bytes());
    if (!status.ok()) co_return status;
    absl::StatusOr<ShardUpdate> update =
        MakeUpdate(found_, i, part.whole.bytes());
    if (!update.ok()) co_return update.status();
    part.update = *std::move(update);
    co_return absl::OkStatus();
  }

  const ShardsCall& found_;
  ServerCall& call_;
  const Executor home_;
  std::vector<Part> parts_;
  Buffer piece_;
  bool interrupted_ = false;  // another update interrupted a stream
};

Task<ServerReply> ServeWhole(const ShardsCall& found, ServerCall& call) {
  absl::StatusOr<Attachments> attachments = co_await Attachments::Receive(call);
  if (!attachments.ok()) co_return ErrorReply(attachments.status());
  std::vector<ShardUpdate> updates;
  updates.reserve(found.shards.size());
  for (size_t i = 0; i < found.shards.size(); ++i) {
    absl::StatusOr<ShardUpdate> update =
        MakeUpdate(found, i, (*attachments)[i]);
    if (!update.ok()) {
      co_await CountRefused(*found.shards[i]);
      co_return ErrorReply(update.status());
    }
    updates.push_back(*std::move(update));
  }
  co_return co_await ApplyAll(found, std::move(updates), call);
}

Task<ServerReply> ServeStreamed(const ShardsCall& found, ServerCall& call) {
  const Executor home = co_await asio::this_coro::executor;
  StreamedPush push(found, call, home);
  const bool begun = co_await push.Begin();
  if (!begun) co_return co_await ServeWhole(found, call);
  absl::Status status = co_await push.Receive();
  if (!status.ok()) {
    co_await push.Abandon();
    co_return ErrorReply(std::move(status));
  }
  co_return co_await push.Commit();
}

}  // namespace

Task<ServerReply> ServePush(VerbContext& context, ServerCall& call) {
  absl::StatusOr<ShardsCall> found = FindUpdated(context, call);
  if (!found.ok()) co_return ErrorReply(found.status());
  absl::Status check = CheckPushSizes(call, *found);
  if (!check.ok()) co_return ErrorReply(std::move(check));
  bool streamed = false;
  for (size_t i = 0; i < found->shards.size(); ++i) {
    streamed |= CanStream(*found, i, call.attachment_sizes()[i]);
  }
  if (streamed) co_return co_await ServeStreamed(*found, call);
  co_return co_await ServeWhole(*found, call);
}

}  // namespace capstan
