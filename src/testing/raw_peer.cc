#include "testing/raw_peer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <span>
#include <utility>

#include "base/status.h"

namespace capstan::testing {
namespace {

constexpr size_t kPiece = 1 << 20;
constexpr uint64_t kTimeoutUs = 30'000'000;
constexpr std::chrono::seconds kConnectTimeout(20);

Task<absl::Status> WriteAll(std::shared_ptr<Stream> stream, std::string bytes,
                            size_t piece) {
  size_t sent = 0;
  while (sent < bytes.size()) {
    const size_t count = std::min(piece, bytes.size() - sent);
    const Bytes view = AsBytes(bytes).subspan(sent, count);
    const std::span<const Bytes> views(&view, 1);
    const absl::StatusOr<size_t> written = co_await stream->WriteSome(views);
    if (!written.ok()) co_return written.status();
    sent += *written;
  }
  co_return absl::OkStatus();
}

Task<> WriteBehind(std::shared_ptr<Stream> stream, std::string bytes) {
  // The peer may close early; the test checks for that itself.
  const absl::Status status =
      co_await WriteAll(std::move(stream), std::move(bytes), kPiece);
  status.IgnoreError();
}

Task<absl::Status> ReadAll(std::shared_ptr<Stream> stream, MutableBytes into) {
  while (!into.empty()) {
    const std::span<const MutableBytes> views(&into, 1);
    const absl::StatusOr<size_t> count = co_await stream->ReadSome(views);
    if (!count.ok()) co_return count.status();
    into = into.subspan(*count);
  }
  co_return absl::OkStatus();
}

Task<size_t> Drain(std::shared_ptr<Stream> stream) {
  std::vector<std::byte> memory(kPiece);
  const MutableBytes view(memory);
  const std::span<const MutableBytes> views(&view, 1);
  size_t total = 0;
  while (true) {
    const absl::StatusOr<size_t> count = co_await stream->ReadSome(views);
    if (!count.ok()) co_return total;
    total += *count;
  }
}

}  // namespace

std::string HeaderBytes(const FrameHeader& header) {
  std::string bytes(kHeaderBytes, '\0');
  EncodeHeader(header,
               std::span<std::byte, kHeaderBytes>(
                   reinterpret_cast<std::byte*>(bytes.data()), kHeaderBytes));
  return bytes;
}

std::string FrameBytes(const FrameHeader& header, std::string_view body,
                       const std::vector<std::string>& attachments) {
  std::vector<Bytes> views;
  for (const std::string& attachment : attachments) {
    views.push_back(AsBytes(attachment));
  }
  std::string bytes = EncodeHead(header, body, views);
  for (const std::string& attachment : attachments) bytes += attachment;
  return bytes;
}

std::string HelloFrame(const Hello& hello, FrameKind kind) {
  FrameHeader header;
  header.kind = kind;
  return FrameBytes(header, EncodeHello(hello));
}

std::string RequestFrame(uint64_t id, Method method, std::string_view body,
                         const std::vector<std::string>& attachments) {
  FrameHeader header;
  header.kind = FrameKind::kRequest;
  header.code = static_cast<uint16_t>(method);
  header.request_id = id;
  header.timeout_us = kTimeoutUs;
  header.reply_limit = kInlineBytes;
  return FrameBytes(header, body, attachments);
}

std::unique_ptr<RawPeer> RawPeer::Connect(TransportWorld& world,
                                          const std::string& address) {
  const Executor executor = world.executor(Side::kClient);
  const MonotonicTime deadline =
      world.clock(Side::kClient).Now() + kConnectTimeout;
  absl::StatusOr<std::unique_ptr<Stream>> stream = world.Run(
      executor,
      world.network(Side::kClient).Connect(executor, address, deadline));
  if (!stream.ok()) {
    ADD_FAILURE() << "no connection: " << Describe(stream.status());
    return nullptr;
  }
  return std::make_unique<RawPeer>(world, Side::kClient, *std::move(stream));
}

RawPeer::RawPeer(TransportWorld& world, Side side,
                 std::unique_ptr<Stream> stream)
    : world_(world), executor_(world.executor(side)) {
  address_ = stream->peer_address();
  stream_ = std::move(stream);
}

RawPeer::~RawPeer() {
  Close();
  world_.RunFunction(executor_, [this] { stream_ = nullptr; });
}

absl::Status RawPeer::Send(std::string_view bytes) {
  return world_.Run(executor_, WriteAll(stream_, std::string(bytes), kPiece));
}

absl::Status RawPeer::SendSlowly(std::string_view bytes) {
  return world_.Run(executor_, WriteAll(stream_, std::string(bytes), 1));
}

void RawPeer::SendBehind(std::string bytes) {
  Spawn(executor_, WriteBehind(stream_, std::move(bytes)));
}

absl::StatusOr<std::string> RawPeer::Receive(size_t count) {
  std::string bytes(count, '\0');
  const MutableBytes view =
      std::as_writable_bytes(std::span(bytes.data(), bytes.size()));
  CAPSTAN_RETURN_IF_ERROR(world_.Run(executor_, ReadAll(stream_, view)));
  return bytes;
}

absl::StatusOr<RawFrame> RawPeer::ReceiveFrame(bool skip_pings) {
  RawFrame frame;
  do {
    const absl::StatusOr<std::string> head = Receive(kHeaderBytes);
    if (!head.ok()) return head.status();
    const Bytes bytes = AsBytes(*head);
    const absl::StatusOr<FrameHeader> header = DecodeHeader(
        std::span<const std::byte, kHeaderBytes>(bytes.data(), kHeaderBytes),
        FrameLimits());
    if (!header.ok()) return header.status();
    frame.header = *header;
  } while (skip_pings && (frame.header.kind == FrameKind::kPing ||
                          frame.header.kind == FrameKind::kPong));
  const absl::StatusOr<std::string> table =
      Receive(size_t{8} * frame.header.attachment_count);
  if (!table.ok()) return table.status();
  absl::StatusOr<std::vector<uint64_t>> lengths = std::vector<uint64_t>();
  if (frame.header.kind != FrameKind::kData) {
    lengths = DecodeLengths(frame.header, AsBytes(*table));
    if (!lengths.ok()) return lengths.status();
  }
  frame.lengths = *std::move(lengths);
  absl::StatusOr<std::string> body = Receive(frame.header.body_bytes);
  if (!body.ok()) return body.status();
  frame.body = *std::move(body);
  if (frame.header.kind == FrameKind::kData || IsInline(frame.header)) {
    absl::StatusOr<std::string> data = Receive(frame.header.attachment_bytes);
    if (!data.ok()) return data.status();
    frame.data = *std::move(data);
  }
  return frame;
}

size_t RawPeer::ReceiveUntilClosed() {
  return world_.Run(executor_, Drain(stream_));
}

void RawPeer::Close() {
  world_.RunFunction(executor_, [this] { stream_->Close(); });
}

RawServer::RawServer(TransportWorld& world)
    : RawServer(world, world.NewAddress()) {}

RawServer::RawServer(TransportWorld& world, const std::string& address)
    : world_(world), executor_(world.executor(Side::kServer)) {
  absl::StatusOr<std::unique_ptr<Acceptor>> acceptor = world_.RunFunction(
      executor_,
      [&] { return world_.network(Side::kServer).Listen(executor_, address); });
  if (!acceptor.ok()) {
    ADD_FAILURE() << "cannot listen: " << Describe(acceptor.status());
    return;
  }
  acceptor_ = *std::move(acceptor);
  address_ = acceptor_->address();
}

RawServer::~RawServer() {
  world_.RunFunction(executor_, [this] { acceptor_ = nullptr; });
}

std::unique_ptr<RawPeer> RawServer::Accept() {
  absl::StatusOr<std::unique_ptr<Stream>> stream =
      world_.Run(executor_, acceptor_->Accept(executor_));
  if (!stream.ok()) {
    ADD_FAILURE() << "nobody came: " << Describe(stream.status());
    return nullptr;
  }
  return std::make_unique<RawPeer>(world_, Side::kServer, *std::move(stream));
}

std::unique_ptr<RawPeer> RawServer::AcceptAndWelcome(const Hello& self,
                                                     Lane lane) {
  std::unique_ptr<RawPeer> peer = Accept();
  if (peer == nullptr) return nullptr;
  const absl::StatusOr<RawFrame> frame = peer->ReceiveFrame();
  const absl::StatusOr<Hello> hello =
      frame.ok() ? DecodeHello(frame->body) : frame.status();
  if (!hello.ok()) {
    ADD_FAILURE() << "no hello: " << Describe(hello.status());
    return nullptr;
  }
  EXPECT_EQ(hello->lane, lane);
  const absl::Status sent = peer->Send(HelloFrame(self, FrameKind::kWelcome));
  EXPECT_TRUE(sent.ok()) << Describe(sent);
  return peer;
}

}  // namespace capstan::testing
