// A Stream over a connected socket of any protocol that Asio knows.
#pragma once

#include <algorithm>
#include <array>
#include <asio/basic_stream_socket.hpp>
#include <asio/buffer.hpp>
#include <asio/redirect_error.hpp>
#include <asio/use_awaitable.hpp>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "transport/stream.h"

namespace capstan {

// Up to kMaxViews of somebody's memory, as Asio takes it. Copied by value into
// Asio's operations, so it is kept small.
template <typename Buffer>
class BufferSequence {
 public:
  using value_type = Buffer;
  using const_iterator = const Buffer*;

  template <typename View>
  explicit BufferSequence(std::span<const View> views) {
    for (const View& view : views) {
      if (size_ == buffers_.size()) break;
      if (view.empty()) continue;
      buffers_[size_++] = Buffer(view.data(), view.size());
    }
  }
  const_iterator begin() const { return buffers_.data(); }
  const_iterator end() const { return buffers_.data() + size_; }
  bool empty() const { return size_ == 0; }

 private:
  std::array<Buffer, kMaxViews> buffers_;
  size_t size_ = 0;
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
  // Shared with the operations under way, which may outlive the stream.
  struct State {
    explicit State(Socket socket_in) : socket(std::move(socket_in)) {
      asio::error_code ignored;
      socket.non_blocking(true, ignored);
    }
    Socket socket;
    bool closed = false;
    // Asio would wait for ever in a read after the one that saw the end.
    bool at_end = false;
  };

  // A sequence by reference: the coroutine that awaits the operation keeps it.
  template <typename Buffer>
  class Reference {
   public:
    using value_type = Buffer;
    using const_iterator = const Buffer*;
    explicit Reference(const BufferSequence<Buffer>& sequence)
        : sequence_(&sequence) {}
    const_iterator begin() const { return sequence_->begin(); }
    const_iterator end() const { return sequence_->end(); }

   private:
    const BufferSequence<Buffer>* sequence_;
  };
  template <typename Buffer>
  Reference(const BufferSequence<Buffer>&) -> Reference<Buffer>;

  static Task<absl::StatusOr<size_t>> Read(std::shared_ptr<State> state,
                                           std::span<const MutableBytes> into) {
    if (state->closed || state->at_end) {
      co_return Result(*state, asio::error::eof, 0);
    }
    const BufferSequence<asio::mutable_buffer> buffers(into);
    asio::error_code error;
    const size_t count = co_await state->socket.async_read_some(
        Reference(buffers), asio::redirect_error(asio::use_awaitable, error));
    if (error && error != asio::error::operation_aborted) state->at_end = true;
    co_return Result(*state, error, count);
  }

  static Task<absl::StatusOr<size_t>> Write(std::shared_ptr<State> state,
                                            std::span<const Bytes> from) {
    const BufferSequence<asio::const_buffer> buffers(from);
    asio::error_code error;
    const size_t count = co_await state->socket.async_write_some(
        Reference(buffers), asio::redirect_error(asio::use_awaitable, error));
    co_return Result(*state, error, count);
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
