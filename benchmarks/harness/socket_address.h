// Blocking sockets by address.
#pragma once

#include <string>

#include "absl/status/statusor.h"

namespace capstan {

// A file descriptor that closes itself. Move-only.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept;
  Descriptor& operator=(Descriptor&& other) noexcept;
  ~Descriptor();
  int get() const { return fd_; }

 private:
  int fd_;
};

// "<what>: <the reason in errno>".
absl::Status ErrnoStatus(const char* what);

// `address` is "127.0.0.1:7000" or "unix:/path". Disables Nagle's algorithm.
absl::StatusOr<Descriptor> ConnectSocket(const std::string& address);
absl::StatusOr<Descriptor> ListenSocket(const std::string& address);
absl::StatusOr<Descriptor> AcceptSocket(const Descriptor& listener);

// The address of `listener`, with the port that the kernel chose.
absl::StatusOr<std::string> BoundAddress(const Descriptor& listener);

}  // namespace capstan
