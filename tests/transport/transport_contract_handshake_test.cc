// The contract of a transport: both sides know who the other is before the
// first request, and strangers are turned away by name.
#include "testing/status_matchers.h"
#include "testing/transport_contract.h"

namespace capstan::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST_P(TransportContract, ClientOfAnotherJobIsRefused) {
  StartServer();
  ChannelOptions options = client_options();
  options.self.job = "another";
  const auto stranger = NewClient(options);
  const absl::StatusOr<Reply> reply = stranger->Call(kEcho, "");
  // It does not learn which job it has met; the server's log says.
  EXPECT_THAT(reply, StatusIs(absl::StatusCode::kFailedPrecondition,
                              AllOf(HasSubstr("'another'"),
                                    Not(HasSubstr("contract")))));
  EXPECT_EQ(TaskOf(reply.status()), "ps/0");
  EXPECT_EQ(counters().connections_refused, 1u);
  EXPECT_THAT(server().turned_away(),
              AllOf(HasSubstr("1 caller"), HasSubstr("worker/3"),
                    HasSubstr("'another'"), HasSubstr("'contract'")));
  EXPECT_TRUE(log().Contains("belongs to job 'another'"));
  EXPECT_EQ(service().started(), 0);
  // It stays refused, and others are served.
  EXPECT_THAT(stranger->Call(kEcho, ""),
              StatusIs(absl::StatusCode::kFailedPrecondition));
  const auto client = NewClient();
  ExpectEcho(*client);
}

TEST_P(TransportContract, ClientOfAnotherVersionIsRefused) {
  StartServer();
  ChannelOptions options = client_options();
  options.self.version = "9.9.9";
  const auto stranger = NewClient(options);
  EXPECT_THAT(stranger->Call(kEcho, ""),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("1.2.3"), HasSubstr("9.9.9"))));
  EXPECT_EQ(counters().connections_refused, 1u);
}

TEST_P(TransportContract, ServerThatIsAnotherTaskIsRefused) {
  StartServer();
  ChannelOptions options = client_options();
  options.expected_task = "ps/4";
  const auto client = NewClient(options);
  const absl::StatusOr<Reply> reply = client->Call(kEcho, "");
  EXPECT_THAT(reply, StatusIs(absl::StatusCode::kFailedPrecondition,
                              AllOf(HasSubstr("ps/4"), HasSubstr("ps/0"))));
  EXPECT_EQ(service().started(), 0);
  Await([this] { return counters().connections_open == 0; });
}

TEST_P(TransportContract, WhoeverAnswersWhenNobodyIsExpected) {
  StartServer();
  ChannelOptions options = client_options();
  options.expected_task = "";
  const auto client = NewClient(options);
  ExpectEcho(*client);
  const absl::StatusOr<Reply> reply = client->Call(kFail, "5 gone");
  EXPECT_THAT(reply, StatusIs(absl::StatusCode::kNotFound));
  // The task is then known by its address, if not by its name.
  EXPECT_NE(TaskOf(reply.status()), "");
}

// A server that lies about its job does not get a request.
TEST_P(TransportContract, ServerOfAnotherJobIsRefused) {
  RawServer server(world());
  ChannelOptions options = client_options();
  options.address = server.address();
  const auto client = NewClient(options);
  StartedCall call = client->Start({.method = kEcho});
  Hello self = server_options().self;
  self.job = "another";
  const auto peer = server.AcceptAndWelcome(self);
  EXPECT_THAT(call.Get(),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("contract"), HasSubstr("another"))));
  EXPECT_EQ(peer->ReceiveUntilClosed(), 0u);
}

TEST_P(TransportContract, AllWaitingCallsAreRefusedTogether) {
  StartServer();
  ChannelOptions options = client_options();
  options.self.job = "another";
  const auto stranger = NewClient(options);
  std::vector<StartedCall> calls;
  for (int i = 0; i < 10; ++i) {
    calls.push_back(stranger->Start({.method = kEcho}));
  }
  for (StartedCall& call : calls) {
    EXPECT_THAT(call.Get(), StatusIs(absl::StatusCode::kFailedPrecondition));
  }
}

TEST_P(TransportContract, WelcomeNamesTheServer) {
  StartServer();
  const auto peer = NewRawPeer(/*hello=*/false);
  ASSERT_OK(peer->Send(HelloFrame(raw_hello())));
  const absl::StatusOr<RawFrame> welcome = peer->ReceiveFrame();
  ASSERT_OK(welcome);
  ASSERT_EQ(welcome->header.kind, FrameKind::kWelcome);
  const absl::StatusOr<Hello> server = DecodeHello(welcome->body);
  ASSERT_OK(server);
  EXPECT_EQ(TaskName(*server), "ps/0");
  EXPECT_EQ(server->job, "contract");
  EXPECT_EQ(server->version, "1.2.3");
  EXPECT_EQ(server->incarnation, 7u);
}

TEST_P(TransportContract, SilenceInsteadOfAHello) {
  ServerOptions options = server_options();
  options.handshake_timeout = std::chrono::milliseconds(20);
  StartServer(options);
  EXPECT_EQ(server().turned_away(), "");
  const auto peer = NewRawPeer(/*hello=*/false);
  EXPECT_EQ(peer->ReceiveUntilClosed(), 0u);
  Await([this] { return counters().stalled == 1; });
  EXPECT_THAT(server().turned_away(), HasSubstr("no hello"));
  const auto client = NewClient();
  ExpectEcho(*client);
}

TEST_P(TransportContract, HalfAHelloAndThenSilence) {
  ServerOptions options = server_options();
  options.handshake_timeout = std::chrono::milliseconds(20);
  StartServer(options);
  for (const size_t count : {size_t{1}, kHeaderBytes, kHeaderBytes + 5}) {
    const auto peer = NewRawPeer(/*hello=*/false);
    const std::string hello = HelloFrame(raw_hello());
    ASSERT_OK(peer->Send(std::string_view(hello).substr(0, count)));
    EXPECT_EQ(peer->ReceiveUntilClosed(), 0u);
  }
  Await([this] { return counters().stalled == 3; });
  EXPECT_EQ(counters().malformed, 0u);
}

TEST_P(TransportContract, SomethingElseInsteadOfAHello) {
  StartServer();
  FrameHeader ping;
  const std::string openings[] = {
      HeaderBytes(ping), RequestFrame(1, kEcho, "early"),
      HelloFrame(raw_hello(), FrameKind::kWelcome),
      "GET / HTTP/1.1\r\nHost: localhost\r\nUser-Agent: curl/7.88\r\n\r\n"};
  uint64_t count = 0;
  for (const std::string& opening : openings) {
    const auto peer = NewRawPeer(/*hello=*/false);
    ASSERT_OK(peer->Send(opening));
    peer->ReceiveUntilClosed();
    ++count;
    Await([&] { return counters().malformed == count; });
  }
  EXPECT_EQ(service().started(), 0);
  const auto client = NewClient();
  ExpectEcho(*client);
}

}  // namespace
}  // namespace capstan::testing
