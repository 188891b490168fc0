#include "harness/bare_socket.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <span>
#include <utility>
#include <vector>

#include "base/status.h"
#include "harness/socket_address.h"
#include "launch/child_process.h"

namespace capstan {
namespace {

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

absl::Status WriteAll(int fd, std::span<const char> from) {
  while (!from.empty()) {
    const ssize_t count = send(fd, from.data(), from.size(), MSG_NOSIGNAL);
    if (count <= 0) return ErrnoStatus("send");
    from = from.subspan(static_cast<size_t>(count));
  }
  return absl::OkStatus();
}

absl::Status ReadAll(int fd, std::span<char> into) {
  while (!into.empty()) {
    const ssize_t count = recv(fd, into.data(), into.size(), 0);
    if (count < 0) return ErrnoStatus("recv");
    if (count == 0) return absl::UnavailableError("the peer has closed");
    into = into.subspan(static_cast<size_t>(count));
  }
  return absl::OkStatus();
}

// Reads `size` bytes in pieces, all of them into `piece`.
absl::Status ReadPieces(int fd, uint64_t size, std::span<char> piece) {
  while (size > 0) {
    const uint64_t next = std::min<uint64_t>(size, piece.size());
    CAPSTAN_RETURN_IF_ERROR(ReadAll(fd, piece.first(next)));
    size -= next;
  }
  return absl::OkStatus();
}

std::span<char> AsSpan(Series& series) {
  return {reinterpret_cast<char*>(&series), sizeof(series)};
}

class BareServer {
 public:
  // Returns when the client has gone.
  absl::Status ServeClient(int fd) {
    while (true) {
      Series series;
      CAPSTAN_RETURN_IF_ERROR(ReadAll(fd, AsSpan(series)));
      if (series.reply_bytes > source_.size()) {
        return absl::InvalidArgumentError("series too large");
      }
      const std::span<const char> reply(source_.data(), series.reply_bytes);
      for (uint64_t i = 0; i < series.count; ++i) {
        CAPSTAN_RETURN_IF_ERROR(ReadPieces(fd, series.request_bytes, piece_));
        CAPSTAN_RETURN_IF_ERROR(WriteAll(fd, reply));
      }
    }
  }

 private:
  std::vector<char> source_ =
      std::vector<char>(kLargestExchange + kHeadBytes, 1);
  std::vector<char> piece_ = std::vector<char>(kPieceBytes + kHeadBytes, 1);
};

class BareClient final : public Contender {
 public:
  explicit BareClient(Descriptor socket) : socket_(std::move(socket)) {}

  absl::StatusOr<double> Run(const Exchange& exchange) override {
    Series series = SeriesOf(exchange);
    const std::span<const char> request(source_.data(), series.request_bytes);
    const std::span<char> reply(destination_.data(), series.reply_bytes);
    CAPSTAN_RETURN_IF_ERROR(WriteAll(socket_.get(), AsSpan(series)));
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
  Descriptor socket_;
  std::vector<char> source_ =
      std::vector<char>(kLargestExchange + kHeadBytes, 1);
  std::vector<char> destination_ =
      std::vector<char>(kLargestExchange + kHeadBytes, 1);
};

}  // namespace

absl::Status ServeBare(const std::string& address) {
  absl::StatusOr<Descriptor> listener = ListenSocket(address);
  if (!listener.ok()) return listener.status();
  absl::StatusOr<std::string> bound = BoundAddress(*listener);
  if (!bound.ok()) return bound.status();
  BareServer server;
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
  return std::make_unique<BareClient>(*std::move(socket));
}

}  // namespace capstan
