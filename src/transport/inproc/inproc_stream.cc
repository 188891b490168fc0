#include "transport/inproc/inproc_stream.h"

#include <asio/post.hpp>
#include <asio/use_awaitable.hpp>
#include <optional>
#include <utility>

#include "base/bytes.h"
#include "transport/context_shutdown.h"
#include "transport/view_cursor.h"

namespace capstan {
namespace {

// An operation that finds the peer ready never sleeps. After this many in a
// row, other work on the executor (timers, other connections) gets a turn.
constexpr int kOperationsPerTurn = 16;

}  // namespace

// Lives on the executor, except for the connection.
class InprocStream::End {
 public:
  End(const Executor& executor, std::shared_ptr<InprocConnection> connection_in,
      InprocConnection::Side side_in)
      : connection(std::move(connection_in)),
        side(side_in),
        sleepers(executor),
        shutdown_(executor, [this] { connection->Close(side); }) {
    connection->Attach(side, &sleepers);
  }

  // Whether other work should get a turn now.
  bool TurnIsOver() {
    if (++operations_ < kOperationsPerTurn) return false;
    operations_ = 0;
    return true;
  }
  void NewTurn() { operations_ = 0; }

  const std::shared_ptr<InprocConnection> connection;
  const InprocConnection::Side side;
  InprocConnection::Sleepers sleepers;
  bool read_interrupted = false;
  bool write_interrupted = false;

 private:
  int operations_ = 0;
  const ContextShutdown shutdown_;
};

// Withdraws the views of an operation before their memory is freed, even if the
// coroutine is destroyed while it sleeps.
class InprocStream::ReadGuard {
 public:
  explicit ReadGuard(End& end) : end_(end) {}
  ~ReadGuard() { end_.connection->FinishRead(end_.side).IgnoreError(); }

 private:
  End& end_;
};

class InprocStream::WriteGuard {
 public:
  explicit WriteGuard(End& end) : end_(end) {}
  ~WriteGuard() { end_.connection->FinishWrite(end_.side).IgnoreError(); }

 private:
  End& end_;
};

InprocStream::InprocStream(const Executor& executor,
                           std::shared_ptr<InprocConnection> connection,
                           InprocConnection::Side side,
                           std::string peer_address)
    : end_(std::make_shared<End>(executor, std::move(connection), side)),
      peer_address_(std::move(peer_address)) {}

InprocStream::~InprocStream() { Close(); }

Task<absl::StatusOr<size_t>> InprocStream::ReadSome(
    std::span<const MutableBytes> into) {
  return Read(end_, into);
}

Task<absl::StatusOr<size_t>> InprocStream::WriteSome(
    std::span<const Bytes> from) {
  return Write(end_, from);
}

Task<absl::StatusOr<size_t>> InprocStream::Read(
    std::shared_ptr<End> end, std::span<const MutableBytes> into) {
  InprocConnection& connection = *end->connection;
  if (ViewCursor(into).remaining() == 0) co_return size_t{0};
  std::optional<absl::StatusOr<size_t>> result =
      connection.StartRead(end->side, into);
  if (result) {
    if (end->TurnIsOver()) {
      co_await asio::post(end->sleepers.executor(), asio::use_awaitable);
    }
    co_return *std::move(result);
  }
  ReadGuard guard(*end);
  end->NewTurn();
  end->read_interrupted = false;
  while (!end->read_interrupted && !connection.ReadReady(end->side)) {
    co_await end->sleepers.reader.Sleep();
  }
  co_return connection.FinishRead(end->side);
}

Task<absl::StatusOr<size_t>> InprocStream::Write(std::shared_ptr<End> end,
                                                 std::span<const Bytes> from) {
  InprocConnection& connection = *end->connection;
  if (ViewCursor(from).remaining() == 0) co_return size_t{0};
  std::optional<absl::StatusOr<size_t>> result =
      connection.StartWrite(end->side, from);
  if (result) {
    if (end->TurnIsOver()) {
      co_await asio::post(end->sleepers.executor(), asio::use_awaitable);
    }
    co_return *std::move(result);
  }
  WriteGuard guard(*end);
  end->NewTurn();
  end->write_interrupted = false;
  while (!end->write_interrupted && !connection.WriteReady(end->side)) {
    co_await end->sleepers.writer.Sleep();
  }
  co_return connection.FinishWrite(end->side);
}

void InprocStream::Interrupt() {
  end_->read_interrupted = true;
  end_->write_interrupted = true;
  end_->sleepers.reader.Wake();
  end_->sleepers.writer.Wake();
}

void InprocStream::Close() {
  end_->connection->Close(end_->side);
  end_->sleepers.reader.Wake();
  end_->sleepers.writer.Wake();
}

}  // namespace capstan
