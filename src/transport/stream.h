// The seam to the network: ordered, reliable byte streams between two tasks,
// and how to open them. TCP, TLS, Unix sockets, memory and the simulation
// implement it; the protocol above (frames, calls, keepalive) is written once.
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

// One end of a connection. Lives on one executor and is used on it only. At
// most one ReadSome and one WriteSome may be in progress at a time; one of each
// is fine.
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
  // used after it returns, and exactly the bytes that it counts have been or
  // will be delivered unless the connection is lost.
  virtual Task<absl::StatusOr<size_t>> WriteSome(
      std::span<const Bytes> from) = 0;

  // Writes as much as there is room for without waiting, in order, and returns
  // how many bytes: 0 if there is no room, on an error (which WriteSome then
  // returns), or if the transport has no such shortcut. Otherwise like
  // WriteSome; not while one is in progress.
  virtual size_t TryWrite(std::span<const Bytes> from) {
    (void)from;
    return 0;
  }

  // Makes any ReadSome or WriteSome in progress return soon. Loses no bytes.
  virtual void Interrupt() = 0;

  // Ends the connection; what was written is still delivered if the transport
  // can. Operations in progress and later ones return Unavailable.
  virtual void Close() = 0;

  // The other end, for messages: "127.0.0.1:7000", "unix:/run/x", "inproc:a";
  // "process 4711" for a peer that connected over a Unix socket.
  virtual std::string peer_address() const = 0;

  // The role names in the peer's verified certificate ("ps/1", see
  // certificate_names.h; empty if it names none). Nullopt if the transport has
  // no certificates.
  virtual std::optional<std::string> peer_certificate() const {
    return std::nullopt;
  }
};

class Acceptor {
 public:
  // Closes.
  virtual ~Acceptor() = default;

  // Waits for the next connection; its stream lives on `executor`, which need
  // not be the acceptor's own. Unavailable after Close. Any other error
  // concerns one connection only, and the acceptor remains usable.
  virtual Task<absl::StatusOr<std::unique_ptr<Stream>>> Accept(
      const Executor& executor) = 0;

  // The bound address, with the port that was chosen for port 0: what a peer
  // passes to Connect.
  virtual std::string address() const = 0;

  virtual void Close() = 0;
};

// Thread-safe.
class Network {
 public:
  virtual ~Network() = default;

  // Connects to `address` from `executor`. Unavailable, naming the address and
  // the reason, if nobody answers by `deadline` or the peer refuses; a Refusal
  // if nobody listens there; InvalidArgument if it is not an address of this
  // network.
  virtual Task<absl::StatusOr<std::unique_ptr<Stream>>> Connect(
      Executor executor, std::string address, MonotonicTime deadline) = 0;

  // Starts listening. The acceptor lives on `executor`. Unavailable, naming the
  // address, if the address is taken or not local; InvalidArgument as above.
  virtual absl::StatusOr<std::unique_ptr<Acceptor>> Listen(
      const Executor& executor, const std::string& address) = 0;
};

}  // namespace capstan
