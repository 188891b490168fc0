// One end of a connection under a test's control: it sends what no correct
// program would, or stops when no correct program does. Test-only.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "testing/transport_world.h"
#include "transport/stream.h"
#include "wire/frame.h"
#include "wire/hello.h"
#include "wire/method.h"

namespace capstan::testing {

// A frame as received: header, attachment lengths, body, inline attachments (or
// the piece of a kData).
struct RawFrame {
  FrameHeader header;
  std::vector<uint64_t> lengths;
  std::string body;
  std::string data;
};

// The encoded bytes of a frame, for Send.
std::string FrameBytes(const FrameHeader& header, std::string_view body = {},
                       const std::vector<std::string>& attachments = {});
std::string HelloFrame(const Hello& hello, FrameKind kind = FrameKind::kHello);
std::string RequestFrame(uint64_t id, Method method, std::string_view body,
                         const std::vector<std::string>& attachments = {});
// Encodes a header with the fields as given, even if EncodeHead would differ.
std::string HeaderBytes(const FrameHeader& header);

// Used from the main thread. Each method blocks until it is done.
class RawPeer {
 public:
  // Connects as a client.
  static std::unique_ptr<RawPeer> Connect(TransportWorld& world,
                                          const std::string& address);
  RawPeer(TransportWorld& world, Side side, std::unique_ptr<Stream> stream);
  // Closes the connection.
  ~RawPeer();

  // Sends all of `bytes`. Unavailable if the peer is gone.
  absl::Status Send(std::string_view bytes);
  // Sends byte by byte, each in its own write.
  absl::Status SendSlowly(std::string_view bytes);
  // Starts sending `bytes` and returns; the rest is sent as the peer reads.
  void SendBehind(std::string bytes);

  // The next `count` bytes.
  absl::StatusOr<std::string> Receive(size_t count);
  // The next frame; with `skip_pings`, the next that is not a kPing or kPong.
  absl::StatusOr<RawFrame> ReceiveFrame(bool skip_pings = true);
  // Reads until the peer closes; returns the number of bytes received.
  size_t ReceiveUntilClosed();

  void Close();
  std::string peer_address() const { return address_; }

 private:
  TransportWorld& world_;
  const Executor executor_;
  // Shared with the coroutine that SendBehind started.
  std::shared_ptr<Stream> stream_;
  std::string address_;
};

// Accepts connections for a test that plays the server.
class RawServer {
 public:
  explicit RawServer(TransportWorld& world);
  // Listens at an address that a server had before.
  RawServer(TransportWorld& world, const std::string& address);
  // Stops listening.
  ~RawServer();

  std::string address() const { return address_; }
  // Waits for the next connection.
  std::unique_ptr<RawPeer> Accept();
  // The same, and answers the hello as `self`. Fails if it is not for `lane`.
  std::unique_ptr<RawPeer> AcceptAndWelcome(const Hello& self,
                                            Lane lane = Lane::kSmall);

 private:
  TransportWorld& world_;
  const Executor executor_;
  std::unique_ptr<Acceptor> acceptor_;
  std::string address_;
};

}  // namespace capstan::testing
