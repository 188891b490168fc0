// A Stream over a connected socket of any protocol that Asio knows.
#pragma once

#include <algorithm>
#include <asio/basic_stream_socket.hpp>
#include <asio/buffer.hpp>
#include <asio/redirect_error.hpp>
#include <asio/use_awaitable.hpp>
#include <cstddef>
#include <iterator>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "transport/stream.h"

namespace capstan {

// Adapts views to an Asio buffer sequence, converting each view when it is
// accessed. The views must outlive it; Asio uses the first kMaxViews.
template <typename Buffer, typename View>
class BufferSequence {
 public:
  using value_type = Buffer;

  class const_iterator {
   public:
    using iterator_category = std::bidirectional_iterator_tag;
    using value_type = Buffer;
    using difference_type = std::ptrdiff_t;
    using pointer = const Buffer*;
    using reference = Buffer;

    const_iterator() = default;
    explicit const_iterator(const View* view) : view_(view) {}
    Buffer operator*() const { return Buffer(view_->data(), view_->size()); }
    const_iterator& operator++() {
      ++view_;
      return *this;
    }
    const_iterator operator++(int) { return const_iterator(view_++); }
    const_iterator& operator--() {
      --view_;
      return *this;
    }
    const_iterator operator--(int) { return const_iterator(view_--); }
    bool operator==(const const_iterator&) const = default;

   private:
    const View* view_ = nullptr;
  };

  explicit BufferSequence(std::span<const View> views)
      : views_(views.first(std::min(views.size(), kMaxViews))) {}
  const_iterator begin() const { return const_iterator(views_.data()); }
  const_iterator end() const {
    return const_iterator(views_.data() + views_.size());
  }

 private:
  std::span<const View> views_;
};

template <typename Protocol>
class SocketStream final : public Stream {
 public:
  using Socket = asio::basic_stream_socket<Protocol>;

  SocketStream(Socket socket, std::string peer_address)
      : state_(std::make_shared<State>(std::move(socket))),
        peer_address_(std::move(peer_address)) {}
  ~SocketStream() override { Close(); }

  Task<absl::StatusOr<size_t>> ReadSome(
      std::span<const MutableBytes> into) override {
    return Read(state_, into);
  }
  Task<absl::StatusOr<size_t>> WriteSome(std::span<const Bytes> from) override {
    return Write(state_, from);
  }
  size_t TryWrite(std::span<const Bytes> from) override {
    return WriteAtOnce(*state_, from);
  }

  void Interrupt() override {
    asio::error_code ignored;
    state_->socket.cancel(ignored);
  }

  void Close() override {
    if (state_->closed) return;
    state_->closed = true;
    asio::error_code ignored;
    state_->socket.shutdown(Socket::shutdown_both, ignored);
    state_->socket.close(ignored);
  }

  std::string peer_address() const override { return peer_address_; }

 private:
  // Shared with outstanding operations, which may outlive the stream.
  struct State {
    explicit State(Socket socket_in) : socket(std::move(socket_in)) {
      asio::error_code ignored;
      socket.non_blocking(true, ignored);
    }
    Socket socket;
    bool closed = false;
    // After a read that saw the end, Asio would wait forever in the next one.
    bool at_end = false;
    // The last read filled its views, so there is probably more.
    bool more_to_read = false;
    // Bytes transferred since other work on the executor last ran.
    size_t read_at_once = 0;
    size_t written_at_once = 0;
  };

  using ReadBuffers = BufferSequence<asio::mutable_buffer, MutableBytes>;
  using WriteBuffers = BufferSequence<asio::const_buffer, Bytes>;

  // A transfer that need not wait is done at once, because going through the
  // executor costs more than a small transfer. After this many bytes in a row,
  // other work on the executor gets a turn.
  static constexpr size_t kMostAtOnce = 256 << 10;

  static Task<absl::StatusOr<size_t>> Read(std::shared_ptr<State> state,
                                           std::span<const MutableBytes> into) {
    if (state->closed || state->at_end) {
      co_return Result(*state, asio::error::eof, 0);
    }
    const ReadBuffers buffers(into);
    asio::error_code error = asio::error::would_block;
    size_t count = 0;
    if (state->more_to_read && state->read_at_once < kMostAtOnce) {
      count = state->socket.read_some(buffers, error);
    }
    if (error == asio::error::would_block) {
      state->read_at_once = 0;
      count = co_await state->socket.async_read_some(
          buffers, asio::redirect_error(asio::use_awaitable, error));
    }
    state->read_at_once += count;
    state->more_to_read = count == TotalSize(into);
    if (error && error != asio::error::operation_aborted) state->at_end = true;
    co_return Result(*state, error, count);
  }

  static Task<absl::StatusOr<size_t>> Write(std::shared_ptr<State> state,
                                            std::span<const Bytes> from) {
    if (state->written_at_once < kMostAtOnce) {
      const size_t count = WriteAtOnce(*state, from);
      if (count > 0) co_return count;
    }
    const WriteBuffers buffers(from);
    asio::error_code error;
    const size_t count = co_await state->socket.async_write_some(
        buffers, asio::redirect_error(asio::use_awaitable, error));
    state->written_at_once = 0;
    co_return Result(*state, error, count);
  }

  // Returns 0 if there is no room, or on an error, which Write then returns.
  static size_t WriteAtOnce(State& state, std::span<const Bytes> from) {
    const WriteBuffers buffers(from);
    asio::error_code error;
    const size_t count = state.socket.write_some(buffers, error);
    if (error) return 0;
    state.written_at_once += count;
    return count;
  }

  static absl::StatusOr<size_t> Result(const State& state,
                                       const asio::error_code& error,
                                       size_t count) {
    if (!error) return count;
    if (state.closed)
      return absl::UnavailableError("the connection was closed");
    if (error == asio::error::operation_aborted) return size_t{0};
    if (error == asio::error::eof) {
      return absl::UnavailableError("the peer closed the connection");
    }
    return absl::UnavailableError(error.message());
  }

  const std::shared_ptr<State> state_;
  const std::string peer_address_;
};

}  // namespace capstan
