#include "harness/bare_socket.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <span>
#include <utility>

#include "base/bytes.h"
#include "base/status.h"
#include "harness/memory.h"
#include "harness/socket_address.h"
#include "launch/system/child_process.h"
#include "tensor/buffer.h"

namespace capstan {
namespace {

constexpr uint64_t kLargestBytes = kLargestExchange + kHeadBytes;

// A series of exchanges, as the client announces it.
struct Series {
  uint64_t request_bytes = 0;
  uint64_t reply_bytes = 0;
  uint64_t count = 0;
};

Series SeriesOf(const Exchange& exchange) {
  Series series = {kHeadBytes, kHeadBytes,
                   static_cast<uint64_t>(exchange.count)};
  if (exchange.kind != ExchangeKind::kPull) {
    series.request_bytes += exchange.bytes;
  }
  if (exchange.kind != ExchangeKind::kPush) {
    series.reply_bytes += exchange.bytes;
  }
  return series;
}

absl::Status WriteAll(int fd, Bytes from) {
  while (!from.empty()) {
    const ssize_t count = send(fd, from.data(), from.size(), MSG_NOSIGNAL);
    if (count <= 0) return ErrnoStatus("send");
    from = from.subspan(static_cast<size_t>(count));
  }
  return absl::OkStatus();
}

absl::Status ReadAll(int fd, MutableBytes into) {
  while (!into.empty()) {
    const ssize_t count = recv(fd, into.data(), into.size(), 0);
    if (count < 0) return ErrnoStatus("recv");
    if (count == 0) return absl::UnavailableError("the peer has closed");
    into = into.subspan(static_cast<size_t>(count));
  }
  return absl::OkStatus();
}

// Reads `size` bytes in pieces, each into `piece`.
absl::Status ReadPieces(int fd, uint64_t size, MutableBytes piece) {
  while (size > 0) {
    const uint64_t next = std::min<uint64_t>(size, piece.size());
    CAPSTAN_RETURN_IF_ERROR(ReadAll(fd, piece.first(next)));
    size -= next;
  }
  return absl::OkStatus();
}

MutableBytes AsBytes(Series& series) {
  return std::as_writable_bytes(std::span(&series, 1));
}

class BareServer {
 public:
  BareServer(Buffer source, Buffer piece)
      : source_(std::move(source)), piece_(std::move(piece)) {}

  // Returns when the client has gone.
  absl::Status ServeClient(int fd) {
    while (true) {
      Series series;
      CAPSTAN_RETURN_IF_ERROR(ReadAll(fd, AsBytes(series)));
      if (series.reply_bytes > source_.size()) {
        return absl::InvalidArgumentError("series too large");
      }
      const Bytes reply = source_.bytes().first(series.reply_bytes);
      const MutableBytes piece = piece_.mutable_bytes();
      for (uint64_t i = 0; i < series.count; ++i) {
        CAPSTAN_RETURN_IF_ERROR(ReadPieces(fd, series.request_bytes, piece));
        CAPSTAN_RETURN_IF_ERROR(WriteAll(fd, reply));
      }
    }
  }

 private:
  const Buffer source_;
  Buffer piece_;
};

class BareClient final : public Contender {
 public:
  BareClient(Descriptor socket, Buffer source, Buffer destination)
      : socket_(std::move(socket)),
        source_(std::move(source)),
        destination_(std::move(destination)) {}

  absl::StatusOr<double> Run(const Exchange& exchange) override {
    Series series = SeriesOf(exchange);
    const Bytes request = source_.bytes().first(series.request_bytes);
    const MutableBytes reply =
        destination_.mutable_bytes().first(series.reply_bytes);
    CAPSTAN_RETURN_IF_ERROR(WriteAll(socket_.get(), AsBytes(series)));
    const auto start = std::chrono::steady_clock::now();
    for (uint64_t i = 0; i < series.count; ++i) {
      CAPSTAN_RETURN_IF_ERROR(WriteAll(socket_.get(), request));
      CAPSTAN_RETURN_IF_ERROR(ReadAll(socket_.get(), reply));
    }
    const std::chrono::duration<double> elapsed =
        std::chrono::steady_clock::now() - start;
    return elapsed.count() / exchange.count;
  }

 private:
  const Descriptor socket_;
  const Buffer source_;
  Buffer destination_;
};

}  // namespace

absl::Status ServeBare(const std::string& address) {
  absl::StatusOr<Descriptor> listener = ListenSocket(address);
  if (!listener.ok()) return listener.status();
  absl::StatusOr<std::string> bound = BoundAddress(*listener);
  if (!bound.ok()) return bound.status();
  absl::StatusOr<Buffer> source = TouchedMemory(kLargestBytes);
  if (!source.ok()) return source.status();
  absl::StatusOr<Buffer> piece = TouchedMemory(kPieceBytes + kHeadBytes);
  if (!piece.ok()) return piece.status();
  BareServer server(*std::move(source), *std::move(piece));
  CAPSTAN_RETURN_IF_ERROR(ReportReady(*bound));
  while (true) {
    absl::StatusOr<Descriptor> socket = AcceptSocket(*listener);
    if (!socket.ok()) return socket.status();
    // Ends with the client's connection; the next client is unaffected.
    server.ServeClient(socket->get()).IgnoreError();
  }
}

absl::StatusOr<std::unique_ptr<Contender>> ConnectBare(
    const std::string& address) {
  absl::StatusOr<Descriptor> socket = ConnectSocket(address);
  if (!socket.ok()) return socket.status();
  absl::StatusOr<Buffer> source = TouchedMemory(kLargestBytes);
  if (!source.ok()) return source.status();
  absl::StatusOr<Buffer> destination = TouchedMemory(kLargestBytes);
  if (!destination.ok()) return destination.status();
  return std::make_unique<BareClient>(*std::move(socket), *std::move(source),
                                      *std::move(destination));
}

}  // namespace capstan
