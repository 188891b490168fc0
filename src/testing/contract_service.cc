#include "testing/contract_service.h"

#include <algorithm>
#include <asio/this_coro.hpp>
#include <charconv>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/async/event.h"
#include "base/crc32c.h"
#include "base/status.h"
#include "testing/pattern.h"

namespace capstan::testing {
namespace {

// Parses the number at the start of `text`, and removes it and the space after
// it.
uint64_t TakeNumber(std::string_view& text) {
  uint64_t number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  text.remove_prefix(static_cast<size_t>(stop - text.data()));
  if (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  return number;
}

std::string Digest(uint64_t count, uint32_t crc) {
  return absl::StrCat(count, " ", crc);
}

ServerReply Answer(std::string body) {
  ServerReply reply;
  reply.body = std::move(body);
  return reply;
}

ServerReply Answer(absl::Status status) {
  ServerReply reply;
  reply.status = std::move(status);
  return reply;
}

// The number of bytes that differ from Pattern(0) from `start` on.
uint64_t CountWrong(uint64_t start, Bytes bytes) {
  uint64_t wrong = 0;
  for (size_t i = 0; i < bytes.size(); ++i) {
    if (bytes[i] != PatternAt(0, start + i)) ++wrong;
  }
  return wrong;
}

ServerReply Fail(std::string_view body) {
  const auto code = static_cast<absl::StatusCode>(TakeNumber(body));
  return Answer(
      absl::Status(code, absl::string_view(body.data(), body.size())));
}

ServerReply FailFor(std::string_view body) {
  const size_t space = body.find(' ');
  ServerReply reply = Fail(body.substr(space + 1));
  reply.status = WithTask(reply.status, body.substr(0, space));
  return reply;
}

}  // namespace

std::string Digest(Bytes bytes) { return Digest(bytes.size(), Crc32c(bytes)); }

Gate& ContractService::gate(const std::string& name) {
  std::lock_guard lock(mutex_);
  std::unique_ptr<Gate>& gate = gates_[name];
  if (gate == nullptr) gate = std::make_unique<Gate>();
  return *gate;
}

Task<ServerReply> ContractService::Serve(ServerCall& call) {
  ++started_;
  ServerReply reply = co_await Dispatch(call);
  ++finished_;
  co_return reply;
}

Task<ServerReply> ContractService::Dispatch(ServerCall& call) {
  const Method method = call.method();
  std::string_view arguments = call.body();
  if (method == kEcho) co_return co_await Echo(call);
  if (method == kFail) co_return Fail(arguments);
  if (method == kFailFor) co_return FailFor(arguments);
  if (method == kHold) co_return co_await Hold(call);
  if (method == kHoldThenEcho) {
    co_await Hold(call);
    co_return co_await Echo(call);
  }
  if (method == kTakeThenHold) co_return co_await TakeThenHold(call);
  if (method == kDigest) {
    const uint64_t piece = TakeNumber(arguments);
    const bool check = arguments == "check";
    co_return co_await Take(call, UINT64_MAX, piece, check);
  }
  if (method == kTakePart) {
    const uint64_t bytes = TakeNumber(arguments);
    co_return co_await Take(call, bytes, bytes, false);
  }
  if (method == kGenerate) co_return Generate(call);
  if (method == kUntilCancelled) co_return co_await UntilCancelled(call);
  if (method == kDescribe) co_return co_await Describe(call);
  co_return Answer(absl::UnimplementedError(
      absl::StrCat("no method ", static_cast<uint16_t>(method))));
}

Task<ServerReply> ContractService::Hold(ServerCall& call) {
  const Executor executor = co_await asio::this_coro::executor;
  const std::string body(call.body());
  Gate& held = gate(body);
  co_await held.Pass(executor);
  co_return Answer(body);
}

Task<ServerReply> ContractService::Echo(ServerCall& call) {
  absl::StatusOr<Buffer> received = co_await call.ReceiveAll();
  if (!received.ok()) co_return CutShort(received.status());
  ServerReply reply = Answer(std::string(call.body()));
  const std::shared_ptr<Buffer> owner = NewOwner(*std::move(received));
  Bytes rest = owner->bytes();
  for (const uint64_t size : call.attachment_sizes()) {
    reply.attachments.push_back(rest.first(size));
    rest = rest.subspan(size);
  }
  reply.owner = owner;
  co_return reply;
}

Task<ServerReply> ContractService::TakeThenHold(ServerCall& call) {
  absl::StatusOr<Buffer> received = co_await call.ReceiveAll();
  if (!received.ok()) co_return CutShort(received.status());
  co_return co_await Hold(call);
}

Task<ServerReply> ContractService::Take(ServerCall& call, uint64_t bytes,
                                        uint64_t piece, bool check) {
  uint64_t left = 0;
  for (const uint64_t size : call.attachment_sizes()) left += size;
  // kTakePart may ask for more than there is, to see it refused.
  if (bytes != UINT64_MAX) left = bytes;
  uint64_t count = 0;
  uint32_t crc = 0;
  std::vector<std::byte> memory(std::min(left, piece));
  while (left > 0) {
    const MutableBytes view(memory.data(), std::min(left, piece));
    const absl::Status status = co_await call.Receive(view);
    if (!status.ok()) co_return CutShort(status);
    if (check) wrong_bytes_ += CountWrong(count, view);
    crc = ExtendCrc32c(crc, view);
    count += view.size();
    left -= view.size();
    received_ += view.size();
  }
  co_return Answer(Digest(count, crc));
}

Task<ServerReply> ContractService::UntilCancelled(ServerCall& call) {
  const Executor executor = co_await asio::this_coro::executor;
  Event cancelled(executor);
  call.OnCancel([&cancelled] { cancelled.Set(); });
  co_await cancelled.Wait();
  if (call.cancelled()) ++cancelled_;
  co_return Answer(absl::CancelledError("the caller gave up"));
}

ServerReply ContractService::Generate(const ServerCall& call) {
  std::string_view body = call.body();
  const uint64_t count = TakeNumber(body);
  const uint64_t size = TakeNumber(body);
  absl::StatusOr<Buffer> memory = Buffer::Allocate(count * size, Fill::kNone);
  if (!memory.ok()) return Answer(memory.status());
  MutableBytes rest = memory->mutable_bytes();
  ServerReply reply;
  for (uint64_t i = 0; i < count; ++i) {
    FillPattern(i, rest.first(size));
    reply.attachments.push_back(rest.first(size));
    rest = rest.subspan(size);
  }
  reply.owner = NewOwner(*std::move(memory));
  return reply;
}

Task<ServerReply> ContractService::Describe(ServerCall& call) {
  absl::StatusOr<Buffer> received = co_await call.ReceiveAll();
  if (!received.ok()) co_return CutShort(received.status());
  const auto timeout = std::chrono::duration_cast<std::chrono::microseconds>(
      call.deadline() - clock_.Now());
  co_return Answer(absl::StrCat(TaskName(call.peer()), " ", call.peer().job,
                                " ", call.peer().incarnation, " ",
                                timeout.count(), " ", call.reply_limit()));
}

ServerReply ContractService::CutShort(absl::Status status) {
  cut_short_code_ = status.code();
  ++cut_short_;
  return Answer(std::move(status));
}

std::shared_ptr<Buffer> ContractService::NewOwner(Buffer memory) {
  ++owners_;
  return {new Buffer(std::move(memory)), [this](Buffer* buffer) {
            delete buffer;
            --owners_;
          }};
}

}  // namespace capstan::testing
