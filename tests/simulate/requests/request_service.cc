#include "simulate/requests/request_service.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace capstan::simulate {
namespace {

// The memory of an answer, handed to the judge, who watches it, when the
// transport releases it.
class ReplyMemory {
 public:
  ReplyMemory(RequestJudge& judge, uint64_t token, size_t size)
      : judge_(judge), token_(token), bytes_(size) {}
  ~ReplyMemory() { judge_.Bury(token_, std::move(bytes_)); }
  ReplyMemory(const ReplyMemory&) = delete;
  ReplyMemory& operator=(const ReplyMemory&) = delete;

  MutableBytes bytes() { return bytes_; }

 private:
  RequestJudge& judge_;
  const uint64_t token_;
  std::vector<std::byte> bytes_;
};

ServerReply ErrorReply(absl::Status status) {
  ServerReply reply;
  reply.status = std::move(status);
  return reply;
}

}  // namespace

Task<ServerReply> RequestService::Serve(ServerCall& call) {
  // From here, a transport that delivers a request twice looks like this.
  if (context_.plant == Plant::kRepeatedRequest &&
      call.attachment_sizes().empty() &&
      node_.clock().Now().time_since_epoch().count() % 64 == 0) {
    co_await ServeOnce(call);
  }
  co_return co_await ServeOnce(call);
}

Task<ServerReply> RequestService::ServeOnce(ServerCall& call) {
  const std::optional<uint64_t> token = TokenOf(call.body());
  if (!token || !context_.judge.OnServe(index_, *token)) {
    co_return ErrorReply(absl::InternalError("not a request of ours"));
  }
  const RequestPlan plan = context_.planner.Plan(*token);
  if (!CheckHead(call, plan)) {
    co_return ErrorReply(absl::InternalError("not as it was sent"));
  }
  absl::Status received = co_await Receive(call, plan);
  if (!received.ok()) co_return ErrorReply(std::move(received));
  co_await Wait(call, plan);
  context_.judge.OnServed(plan.token);
  co_return Answer(plan);
}

bool RequestService::CheckHead(ServerCall& call, const RequestPlan& plan) {
  const std::span<const uint64_t> sizes = call.attachment_sizes();
  if (call.body() != MakeBody(plan.token, kRequestBody, plan.body_bytes)) {
    context_.judge.OnCorrupt(plan.token, "a wrong body");
    return false;
  }
  if (!std::equal(sizes.begin(), sizes.end(), plan.attachments.begin(),
                  plan.attachments.end())) {
    context_.judge.OnCorrupt(plan.token, "wrong sizes of attachments");
    return false;
  }
  return true;
}

Task<absl::Status> RequestService::Receive(ServerCall& call,
                                           const RequestPlan& plan) {
  const size_t count = plan.attachments.size();
  switch (plan.receive) {
    case RequestPlan::Receive::kAll:
      co_return co_await ReceiveAll(call, plan);
    case RequestPlan::Receive::kParts:
      co_return co_await ReceiveParts(call, plan, count);
    case RequestPlan::Receive::kHalf:
      co_return co_await ReceiveParts(call, plan, count / 2);
    case RequestPlan::Receive::kNone:
      break;
  }
  co_return absl::OkStatus();
}

Task<absl::Status> RequestService::ReceiveAll(ServerCall& call,
                                              const RequestPlan& plan) {
  absl::StatusOr<Buffer> buffer = co_await call.ReceiveAll();
  if (!buffer.ok()) co_return buffer.status();
  Bytes left = buffer->bytes();
  for (size_t i = 0; i < plan.attachments.size(); ++i) {
    const Bytes bytes = left.first(plan.attachments[i]);
    left = left.subspan(bytes.size());
    if (!HasPattern(plan.token, kRequestPart + i, 0, bytes)) {
      context_.judge.OnCorrupt(plan.token,
                               absl::StrCat("a wrong attachment ", i));
    }
  }
  co_return absl::OkStatus();
}

Task<absl::Status> RequestService::ReceiveParts(ServerCall& call,
                                                const RequestPlan& plan,
                                                size_t attachments) {
  constexpr size_t kPart = 24'007;
  std::vector<std::byte> part(kPart);
  for (size_t i = 0; i < attachments; ++i) {
    for (size_t offset = 0; offset < plan.attachments[i]; offset += kPart) {
      const MutableBytes into = MutableBytes(part).first(
          std::min(kPart, plan.attachments[i] - offset));
      absl::Status status = co_await call.Receive(into);
      if (!status.ok()) co_return status;
      if (!HasPattern(plan.token, kRequestPart + i, offset, into)) {
        context_.judge.OnCorrupt(plan.token, absl::StrCat("a wrong attachment ",
                                                          i, " from ", offset));
      }
    }
  }
  co_return absl::OkStatus();
}

Task<> RequestService::Wait(ServerCall& call, const RequestPlan& plan) {
  if (plan.service_time == Duration::zero()) co_return;
  const MonotonicTime until = node_.clock().Now() + plan.service_time;
  // Shared with the listener, which the call keeps for longer than this
  // coroutine.
  std::shared_ptr<Timer> timer = node_.clock().NewTimer(node_.executor());
  if (plan.heeds_cancel) call.OnCancel([timer] { timer->Cancel(); });
  co_await timer->SleepUntil(until);
}

ServerReply RequestService::Answer(const RequestPlan& plan) {
  if (plan.error != absl::StatusCode::kOk) {
    return ErrorReply(absl::Status(
        plan.error, absl::StrCat("as planned for token ", plan.token, ".")));
  }
  ServerReply reply;
  reply.body = MakeBody(plan.token, kReplyBody, plan.reply_body_bytes);
  size_t total = 0;
  for (const size_t size : plan.reply_attachments) total += size;
  auto memory =
      std::make_shared<ReplyMemory>(context_.judge, plan.token, total);
  MutableBytes left = memory->bytes();
  for (size_t i = 0; i < plan.reply_attachments.size(); ++i) {
    const MutableBytes bytes = left.first(plan.reply_attachments[i]);
    left = left.subspan(bytes.size());
    FillPattern(plan.token, kReplyPart + i, bytes);
    reply.attachments.push_back(bytes);
  }
  reply.owner = std::move(memory);
  return reply;
}

}  // namespace capstan::simulate
