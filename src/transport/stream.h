// The seam to the network: ordered, reliable bytes between two tasks, and where
// they come from. TCP, TLS, Unix sockets, memory and the simulation implement
// it; the protocol above (frames, calls, keepalive) is written once.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>

#include "absl/status/statusor.h"
#include "base/async/clock.h"
#include "base/async/task.h"
#include "base/bytes.h"

namespace capstan {

// The most views that one ReadSome or WriteSome uses; more are ignored.
inline constexpr size_t kMaxViews = 64;

// One end of a connection. Lives on one executor and is used from it alone. At
// most one ReadSome and one WriteSome are under way at a time; both at once are
// fine.
class Stream {
 public:
  // Closes.
  virtual ~Stream() = default;

  // Waits for bytes and reads some into the views, filled in order. Returns
  // how many, at least 1; or 0 if Interrupt was called first. Unavailable if
  // the peer has closed or is lost.
  virtual Task<absl::StatusOr<size_t>> ReadSome(
      std::span<const MutableBytes> into) = 0;

  // Waits for room and writes some bytes of the views, in order. Returns how
  // many, at least 1; or 0 if Interrupt was called first. The views are not
  // used after it has returned, and exactly the bytes that it counts have been
  // or will be delivered unless the connection is lost.
  virtual Task<absl::StatusOr<size_t>> WriteSome(
      std::span<const Bytes> from) = 0;

  // Writes what there is room for without waiting, in order, and returns how
  // many bytes that was: 0 if there is no room, something is wrong (WriteSome
  // will tell) or the transport has no such short cut. Otherwise as WriteSome;
  // not while one is under way.
  virtual size_t TryWrite(std::span<const Bytes> from) {
    (void)from;
    return 0;
  }

  // Makes the ReadSome and WriteSome under way return soon. Loses no bytes.
  virtual void Interrupt() = 0;

  // Ends the connection; what was written is still delivered if the transport
  // can. Operations under way and later ones return Unavailable.
  virtual void Close() = 0;

  // The other end, for messages: "127.0.0.1:7000", "unix:/run/x", "inproc:a";
  // "process 4711" for one that has connected by a Unix socket.
  virtual std::string peer_address() const = 0;

  // The role names in the peer's verified certificate ("ps/1", see
  // certificate_names.h; empty if it names none). Nothing if the transport
  // knows no certificates.
  virtual std::optional<std::string> peer_certificate() const {
    return std::nullopt;
  }
};

class Acceptor {
 public:
  // Closes.
  virtual ~Acceptor() = default;

  // Waits for the next connection; its stream lives on `executor`, which need
  // not be the acceptor's own. Unavailable after Close. Other errors concern
  // one connection; the acceptor goes on.
  virtual Task<absl::StatusOr<std::unique_ptr<Stream>>> Accept(
      const Executor& executor) = 0;

  // The address that was bound, with the port that was chosen for port 0: what
  // a peer passes to Connect.
  virtual std::string address() const = 0;

  virtual void Close() = 0;
};

// Thread-safe.
class Network {
 public:
  virtual ~Network() = default;

  // Connects to `address` from `executor`. Unavailable, naming the address and
  // the reason, if nobody answers by `deadline` or the peer refuses, a Refusal
  // if nobody listens there; InvalidArgument if it is not an address of this
  // network.
  virtual Task<absl::StatusOr<std::unique_ptr<Stream>>> Connect(
      Executor executor, std::string address, MonotonicTime deadline) = 0;

  // Starts to listen. The acceptor lives on `executor`. Unavailable, naming
  // the address, if it is taken or not ours; InvalidArgument as above.
  virtual absl::StatusOr<std::unique_ptr<Acceptor>> Listen(
      const Executor& executor, const std::string& address) = 0;
};

}  // namespace capstan
