// Owns a file descriptor of the operating system.
#pragma once

#include <unistd.h>

#include <utility>

namespace capstan {

// Closes its descriptor on destruction. Move-only. Not thread-safe.
class FileDescriptor {
 public:
  FileDescriptor() = default;
  // Takes ownership of `fd`; a negative one means none.
  explicit FileDescriptor(int fd) : fd_(fd) {}
  FileDescriptor(FileDescriptor&& other) noexcept
      : fd_(std::exchange(other.fd_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~FileDescriptor() { Close(); }

  bool valid() const { return fd_ >= 0; }
  int get() const { return fd_; }

  void Close() {
    if (fd_ >= 0) close(fd_);
    fd_ = -1;
  }

 private:
  int fd_ = -1;
};

}  // namespace capstan
