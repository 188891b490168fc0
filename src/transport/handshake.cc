#include "transport/handshake.h"

#include <openssl/crypto.h>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "transport/certificate_names.h"
#include "wire/error_body.h"
#include "wire/frame.h"

namespace capstan {
namespace {

Task<absl::Status> WriteAll(Stream& stream, std::string bytes) {
  size_t done = 0;
  while (done < bytes.size()) {
    const Bytes view = AsBytes(bytes).subspan(done);
    const std::span<const Bytes> views(&view, 1);
    absl::StatusOr<size_t> written = co_await stream.WriteSome(views);
    if (!written.ok()) co_return written.status();
    done += *written;
  }
  co_return absl::OkStatus();
}

Task<absl::Status> WriteFrame(Stream& stream, FrameKind kind, uint16_t code,
                              std::string body) {
  FrameHeader header;
  header.kind = kind;
  header.code = code;
  std::string bytes = EncodeHead(header, body, {});
  co_return co_await WriteAll(stream, std::move(bytes));
}

// Encodes `self`, without the token unless the peer has shown a certificate.
std::string EncodeFor(const Stream& stream, const Hello& self) {
  if (stream.peer_certificate()) return EncodeHello(self);
  Hello without_token = self;
  without_token.token.clear();
  return EncodeHello(without_token);
}

}  // namespace

absl::Status CheckCertificate(const Stream& stream, const Hello& hello) {
  const std::optional<std::string> names = stream.peer_certificate();
  if (!names || CertificateNamesTask(*names, hello.role, hello.index)) {
    return absl::OkStatus();
  }
  return absl::PermissionDeniedError(absl::StrCat(
      "says that it is ", TaskName(hello), ", but its certificate is for ",
      names->empty() ? "no task at all" : *names));
}

absl::Status CheckToken(const Stream& stream, const Hello& ours,
                        const Hello& theirs) {
  if (ours.token.empty()) return absl::OkStatus();
  if (!stream.peer_certificate()) {
    return absl::UnauthenticatedError(
        absl::StrCat(TaskName(ours),
                     " asks for the job's token, which is shown inside TLS "
                     "only: give both sides --tls"));
  }
  if (theirs.token.empty()) {
    return absl::UnauthenticatedError(absl::StrCat(
        TaskName(theirs), " shows no job token, and ", TaskName(ours),
        " asks for it: give both the same --token FILE"));
  }
  if (theirs.token.size() == ours.token.size() &&
      CRYPTO_memcmp(theirs.token.data(), ours.token.data(),
                    ours.token.size()) == 0) {
    return absl::OkStatus();
  }
  return absl::UnauthenticatedError(
      absl::StrCat(TaskName(theirs), " shows another job token than that of ",
                   TaskName(ours), ": give both the same --token FILE"));
}

absl::Status RefusalForCaller(const Hello& ours, const Hello& theirs,
                              const absl::Status& refusal) {
  if (ours.job == theirs.job) return refusal;
  return absl::FailedPreconditionError(
      absl::StrCat(TaskName(ours), " does not belong to job '", theirs.job,
                   "': check the address, or give both tasks the same job id"));
}

Task<absl::StatusOr<Hello>> SayHello(Stream& stream, FrameReader& reader,
                                     const Hello& self,
                                     std::string_view expected_task) {
  std::string body = EncodeFor(stream, self);
  absl::Status sent =
      co_await WriteFrame(stream, FrameKind::kHello, 0, std::move(body));
  if (!sent.ok()) co_return sent;
  absl::StatusOr<FrameHeader> header = co_await reader.ReadHeader();
  if (absl::IsUnavailable(header.status()) && !stream.peer_certificate()) {
    // A task that uses TLS hangs up on a caller without TLS.
    co_return absl::UnavailableError(
        absl::StrCat(header.status().message(),
                     " without an answer; if it uses TLS, use --tls here"));
  }
  if (!header.ok()) co_return header.status();
  if (header->kind != FrameKind::kWelcome &&
      header->kind != FrameKind::kRefuse) {
    co_return absl::InvalidArgumentError(
        absl::StrCat("expected a welcome, but got ", ToString(*header)));
  }
  absl::StatusOr<MessagePrefix> prefix = co_await reader.ReadPrefix(*header);
  if (!prefix.ok()) co_return prefix.status();
  if (header->kind == FrameKind::kRefuse) {
    co_return DecodeError(header->code, prefix->body);
  }
  absl::StatusOr<Hello> theirs = DecodeHello(prefix->body);
  if (!theirs.ok()) co_return theirs.status();
  absl::Status match = CheckHello(self, *theirs, expected_task);
  if (match.ok()) match = CheckCertificate(stream, *theirs);
  if (match.ok()) match = CheckToken(stream, self, *theirs);
  if (!match.ok()) co_return match;
  theirs->token.clear();
  co_return theirs;
}

Task<absl::StatusOr<Hello>> AwaitHello(FrameReader& reader) {
  absl::StatusOr<FrameHeader> header = co_await reader.ReadHeader();
  if (!header.ok()) co_return header.status();
  if (header->kind != FrameKind::kHello) {
    co_return absl::InvalidArgumentError(
        absl::StrCat("expected a hello first, but got ", ToString(*header)));
  }
  absl::StatusOr<MessagePrefix> prefix = co_await reader.ReadPrefix(*header);
  if (!prefix.ok()) co_return prefix.status();
  co_return DecodeHello(prefix->body);
}

Task<absl::Status> SendWelcome(Stream& stream, const Hello& self) {
  std::string body = EncodeFor(stream, self);
  co_return co_await WriteFrame(stream, FrameKind::kWelcome, 0,
                                std::move(body));
}

Task<absl::Status> SendRefusal(Stream& stream, const absl::Status& reason) {
  std::string body = EncodeErrorBody(reason);
  const auto code = static_cast<uint16_t>(reason.code());
  co_return co_await WriteFrame(stream, FrameKind::kRefuse, code,
                                std::move(body));
}

}  // namespace capstan
