// A Stream whose other end is the test: the test supplies what it reads, and
// allows how much it writes at a time. Test-only.
#pragma once

#include <algorithm>
#include <cstring>
#include <string>

#include "base/async/waiter.h"
#include "transport/stream.h"

namespace capstan::testing {

class ScriptedStream final : public Stream {
 public:
  explicit ScriptedStream(const Executor& executor)
      : reader_(executor), writer_(executor) {}

  // Adds bytes for the code under test to read, at most `chunk` at a time.
  void Put(std::string_view bytes) {
    input_.append(bytes);
    reader_.Wake();
  }
  void set_read_chunk(size_t chunk) { read_chunk_ = chunk; }

  // Allows `bytes` more to be written; set_write_chunk limits each write.
  void AllowWrites(size_t bytes) {
    room_ += bytes;
    writer_.Wake();
  }
  void set_write_chunk(size_t chunk) { write_chunk_ = chunk; }
  // What has been written.
  const std::string& output() const { return output_; }
  int writes() const { return writes_; }

  Task<absl::StatusOr<size_t>> ReadSome(
      std::span<const MutableBytes> into) override {
    while (input_.empty() && !closed_ && !interrupted_read_) {
      reading_ = true;
      co_await reader_.Sleep();
      reading_ = false;
    }
    if (closed_) co_return absl::UnavailableError("closed");
    if (std::exchange(interrupted_read_, false)) co_return size_t{0};
    size_t count = 0;
    for (const MutableBytes& view : into) {
      const size_t part =
          std::min({view.size(), input_.size() - count, read_chunk_ - count});
      if (part > 0) std::memcpy(view.data(), input_.data() + count, part);
      count += part;
    }
    input_.erase(0, count);
    co_return count;
  }

  Task<absl::StatusOr<size_t>> WriteSome(std::span<const Bytes> from) override {
    ++writes_;
    while (room_ == 0 && !closed_ && !interrupted_write_) {
      writing_ = true;
      co_await writer_.Sleep();
      writing_ = false;
    }
    if (closed_) co_return absl::UnavailableError("closed");
    if (std::exchange(interrupted_write_, false)) co_return size_t{0};
    size_t count = 0;
    const size_t limit = std::min(room_, write_chunk_);
    for (const Bytes& view : from) {
      const size_t part = std::min(view.size(), limit - count);
      output_.append(AsText(view.first(part)));
      count += part;
    }
    room_ -= count;
    co_return count;
  }

  void Interrupt() override {
    interrupted_read_ = reading_;
    interrupted_write_ = writing_;
    reader_.Wake();
    writer_.Wake();
  }

  void Close() override {
    closed_ = true;
    reader_.Wake();
    writer_.Wake();
  }

  std::string peer_address() const override { return "test"; }
  bool closed() const { return closed_; }

 private:
  Waiter reader_;
  Waiter writer_;
  std::string input_;
  std::string output_;
  size_t read_chunk_ = SIZE_MAX;
  size_t write_chunk_ = SIZE_MAX;
  size_t room_ = 0;
  int writes_ = 0;
  bool reading_ = false;
  bool writing_ = false;
  bool interrupted_read_ = false;
  bool interrupted_write_ = false;
  bool closed_ = false;
};

}  // namespace capstan::testing
