#include "bench_wire/calls.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "wire/method.h"
#include "wire/probe_service.h"

namespace capstan {
namespace {

absl::Status CheckSize(const absl::StatusOr<Reply>& reply, size_t expected) {
  if (!reply.ok()) return reply.status();
  const size_t size = TotalSize(reply->attachments);
  if (size == expected) return absl::OkStatus();
  return absl::InternalError(
      absl::StrCat("a reply of ", size, " bytes, not ", expected));
}

CallOptions ReceiveInto(MutableBytes into) {
  CallOptions options;
  options.receive_into.emplace(1, into);
  return options;
}

}  // namespace

Task<absl::Status> Echo(Channel& channel, Bytes from, MutableBytes into) {
  CallOptions options = ReceiveInto(into);
  std::vector<Bytes> attachments(1, from);
  std::string body;
  absl::StatusOr<Reply> reply =
      co_await channel.Call(Method::kProbeEcho, std::move(body),
                            std::move(attachments), std::move(options));
  co_return CheckSize(reply, into.size());
}

Task<absl::Status> Pull(Channel& channel, MutableBytes into) {
  CallOptions options = ReceiveInto(into);
  std::vector<Bytes> attachments;
  std::string body = EncodeProbeSize(into.size());
  absl::StatusOr<Reply> reply =
      co_await channel.Call(Method::kProbeSource, std::move(body),
                            std::move(attachments), std::move(options));
  co_return CheckSize(reply, into.size());
}

Task<absl::Status> Push(Channel& channel, Bytes from) {
  CallOptions options;
  std::vector<Bytes> attachments(1, from);
  std::string body;
  absl::StatusOr<Reply> reply =
      co_await channel.Call(Method::kProbeSink, std::move(body),
                            std::move(attachments), std::move(options));
  if (!reply.ok()) co_return reply.status();
  absl::StatusOr<uint64_t> size = DecodeProbeSize(reply->body);
  if (!size.ok()) co_return size.status();
  if (*size == from.size()) co_return absl::OkStatus();
  co_return absl::InternalError(
      absl::StrCat(*size, " bytes arrived, not ", from.size()));
}

}  // namespace capstan
