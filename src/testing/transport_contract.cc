#include "testing/transport_contract.h"

#include <stdexcept>
#include <utility>

#include "absl/strings/str_split.h"
#include "testing/status_matchers.h"

namespace capstan::testing {
namespace {

Hello Identity(const std::string& role, uint32_t index, uint64_t incarnation) {
  Hello hello;
  hello.version = "1.2.3";
  hello.job = "contract";
  hello.role = role;
  hello.index = index;
  hello.incarnation = incarnation;
  return hello;
}

KeepaliveOptions PatientKeepalive() {
  KeepaliveOptions keepalive;
  keepalive.interval = std::chrono::seconds(5);
  keepalive.timeout = std::chrono::seconds(30);
  return keepalive;
}

}  // namespace

TransportHarness::TransportHarness(std::unique_ptr<TransportWorld> world)
    : logger_(log_.NewLogger()),
      world_(std::move(world)),
      service_(world_->clock(Side::kServer)) {}

TransportHarness::~TransportHarness() {
  if (server_ != nullptr) ShutdownServer();
  // Destroyed before the service, which the remaining coroutines still point
  // to.
  const std::unique_ptr<TransportWorld> world = std::move(world_);
}

ServerOptions TransportHarness::server_options() const {
  ServerOptions options;
  options.self = Identity("ps", 0, 7);
  options.keepalive = PatientKeepalive();
  options.handshake_timeout = std::chrono::seconds(30);
  options.stall_timeout = std::chrono::seconds(30);
  return options;
}

ChannelOptions TransportHarness::client_options() const {
  ChannelOptions options;
  options.self = Identity("worker", 3, 11);
  options.address = address_;
  options.expected_task = "ps/0";
  options.keepalive = PatientKeepalive();
  options.connect_timeout = std::chrono::seconds(30);
  options.backoff.initial = std::chrono::milliseconds(1);
  options.backoff.max = std::chrono::milliseconds(10);
  return options;
}

void TransportHarness::StartServer(const ServerOptions& options) {
  StartServer(options, world_->NewAddress());
}

void TransportHarness::StartServer(const ServerOptions& options,
                                   const std::string& address) {
  absl::StatusOr<std::unique_ptr<Server>> server = Server::Start(
      world_->clock(Side::kServer), world_->network(Side::kServer), logger_,
      service_, world_->executors(Side::kServer), address, options);
  if (!server.ok()) {
    throw std::runtime_error("no server: " + Describe(server.status()));
  }
  server_ = *std::move(server);
  address_ = server_->address();
}

std::future<void> TransportHarness::BeginShutdown(Duration grace) {
  const MonotonicTime deadline = world_->clock(Side::kServer).Now() + grace;
  return StartOn(world_->executor(Side::kServer), server_->Shutdown(deadline));
}

void TransportHarness::ShutdownServer(Duration grace) {
  world_->Await(BeginShutdown(grace));
  server_ = nullptr;
}

void TransportHarness::CrashServer() {
  world_->CrashServer();
  server_ = nullptr;
}

std::unique_ptr<TestClient> TransportHarness::NewClient(
    const ChannelOptions& options) {
  return std::make_unique<TestClient>(*world_, logger_, options);
}

std::unique_ptr<TestClient> TransportHarness::StartAndConnect() {
  StartServer();
  return NewClient();
}

Hello TransportHarness::raw_hello() const {
  Hello hello = Identity("worker", 9, 99);
  hello.session = 12345;
  return hello;
}

std::unique_ptr<RawPeer> TransportHarness::NewRawPeer(bool hello) {
  std::unique_ptr<RawPeer> peer = RawPeer::Connect(*world_, address_);
  if (peer == nullptr || !hello) return peer;
  EXPECT_OK(peer->Send(HelloFrame(raw_hello())));
  const absl::StatusOr<RawFrame> welcome = peer->ReceiveFrame();
  EXPECT_OK(welcome);
  if (welcome.ok()) {
    EXPECT_EQ(welcome->header.kind, FrameKind::kWelcome);
  }
  return peer;
}

void TransportHarness::AwaitHeld(const std::string& gate, size_t count) {
  Gate& held = service_.gate(gate);
  Await([&held, count] { return held.waiting() == count; });
}

void TransportContract::ExpectEcho(TestClient& client,
                                   const std::string& body) {
  const absl::StatusOr<Reply> reply = client.Call(kEcho, body);
  ASSERT_OK(reply);
  EXPECT_EQ(reply->body, body);
}

absl::StatusOr<Reply> TransportContract::CallAgain(
    TestClient& client, Method method, const std::string& body,
    const std::vector<Bytes>& attachments) {
  while (true) {
    absl::StatusOr<Reply> reply = client.Call(method, body, attachments);
    if (!absl::IsUnavailable(reply.status())) return reply;
  }
}

void TransportContract::AwaitLost(TestClient& client) {
  CallOptions options;
  options.timeout = std::chrono::milliseconds(20);
  absl::Status status;
  while (!absl::IsDeadlineExceeded(status)) {
    status = client.Call(kEcho, "", {}, options).status();
    ASSERT_FALSE(status.ok());
  }
}

CallOptions ReplyUpTo(uint64_t bytes) {
  CallOptions options;
  options.reply_limit = bytes;
  return options;
}

std::string JoinAttachments(const Reply& reply) {
  std::string bytes;
  for (const MutableBytes& attachment : reply.attachments) {
    bytes += AsText(attachment);
  }
  return bytes;
}

std::vector<std::string> SplitWords(const std::string& text) {
  return absl::StrSplit(text, ' ');
}

}  // namespace capstan::testing
