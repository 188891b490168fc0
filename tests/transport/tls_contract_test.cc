// TLS over TCP keeps the contract of a transport, and nobody can pass as a task
// that its certificate is not for.
#include "testing/real_worlds.h"
#include "testing/status_matchers.h"
#include "testing/transport_contract.h"

namespace capstan::testing {
namespace {

INSTANTIATE_TEST_SUITE_P(Tls, TransportContract,
                         ::testing::Values(MakeTlsOverTcpWorld));

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class TlsNamesTest : public ::testing::Test, public TransportHarness {
 protected:
  TlsNamesTest() : TransportHarness(MakeTlsWorldOf("ps/0", "worker/3")) {}
};

TEST_F(TlsNamesTest, TaskOfTheCertificateIsServed) {
  StartServer();
  EXPECT_OK(NewClient()->Call(kEcho, ""));
}

TEST_F(TlsNamesTest, ClientThatPassesAsAnotherTaskIsRefused) {
  StartServer();
  for (const auto& [role, index] :
       {std::pair("worker", 4u), std::pair("chief", 0u)}) {
    ChannelOptions options = client_options();
    options.self.role = role;
    options.self.index = index;
    const auto impostor = NewClient(options);
    EXPECT_THAT(impostor->Call(kEcho, ""),
                StatusIs(absl::StatusCode::kPermissionDenied,
                         AllOf(HasSubstr(role), HasSubstr("worker/3"))));
  }
  EXPECT_EQ(counters().connections_refused, 2u);
  EXPECT_EQ(service().started(), 0);
}

TEST_F(TlsNamesTest, ServerThatPassesAsAnotherTaskIsRefused) {
  ServerOptions options = server_options();
  options.self.index = 1;
  StartServer(options);
  ChannelOptions client = client_options();
  client.expected_task = "ps/1";
  EXPECT_THAT(NewClient(client)->Call(kEcho, ""),
              StatusIs(absl::StatusCode::kPermissionDenied,
                       AllOf(HasSubstr("ps/1"), HasSubstr("ps/0"))));
  EXPECT_EQ(service().started(), 0);
}

// The token is only what is shown of it; its letters are in no message.
constexpr char kSecret = 'Z';

class TlsTokenTest : public TlsNamesTest {
 protected:
  static std::string Token(char last = kSecret) {
    return std::string(Hello::kTokenBytes - 1, kSecret) + last;
  }

  void StartServerWith(const std::string& token) {
    ServerOptions options = server_options();
    options.self.token = token;
    StartServer(options);
  }
  absl::Status CallWith(const std::string& token) {
    ChannelOptions options = client_options();
    options.self.token = token;
    return NewClient(options)->Call(kEcho, "").status();
  }
  // That one line says why, and no letter of a token.
  static void ExpectRefused(const absl::Status& status,
                            const std::string& why) {
    EXPECT_THAT(status,
                StatusIs(absl::StatusCode::kUnauthenticated,
                         AllOf(HasSubstr(why), HasSubstr("--token"),
                               Not(HasSubstr(std::string(2, kSecret))))));
  }
};

TEST_F(TlsTokenTest, RightTokenIsServed) {
  StartServerWith(Token());
  EXPECT_OK(CallWith(Token()));
}

TEST_F(TlsTokenTest, WrongTokenIsRefused) {
  StartServerWith(Token());
  ExpectRefused(CallWith(Token('Y')), "worker/3 shows another job token");
  EXPECT_EQ(counters().connections_refused, 1u);
  EXPECT_EQ(service().started(), 0);
  EXPECT_TRUE(log().Contains("another job token"));
  EXPECT_FALSE(log().Contains(std::string(2, kSecret)));
}

TEST_F(TlsTokenTest, MissingTokenIsRefused) {
  StartServerWith(Token());
  ExpectRefused(CallWith(""), "worker/3 shows no job token");
  EXPECT_EQ(service().started(), 0);
}

TEST_F(TlsTokenTest, ServerMustShowItToo) {
  StartServerWith("");
  ExpectRefused(CallWith(Token()), "ps/0 shows no job token");
  EXPECT_EQ(service().started(), 0);
}

TEST_F(TlsTokenTest, ServerOfAnotherTokenDoesNotShowIt) {
  StartServerWith(Token());
  const auto peer = NewRawPeer(false);
  Hello hello = client_options().self;
  hello.token = Token('Y');
  ASSERT_OK(peer->Send(HelloFrame(hello)));
  const absl::StatusOr<RawFrame> answer = peer->ReceiveFrame();
  ASSERT_OK(answer);
  EXPECT_EQ(answer->header.kind, FrameKind::kRefuse);
  EXPECT_THAT(answer->body, Not(HasSubstr(std::string(2, kSecret))));
}

class PlainTokenTest : public ::testing::Test, public TransportHarness {
 protected:
  PlainTokenTest() : TransportHarness(MakeTcpWorld()) {}
  const std::string token_ = std::string(Hello::kTokenBytes, kSecret);
};

TEST_F(PlainTokenTest, CallerNeverSendsItsToken) {
  RawServer server(world());
  ChannelOptions options = client_options();
  options.address = server.address();
  options.self.token = token_;
  const auto client = NewClient(options);
  StartedCall call = client->Start({.method = kEcho});
  const auto peer = server.Accept();
  const absl::StatusOr<RawFrame> frame = peer->ReceiveFrame();
  ASSERT_OK(frame);
  const absl::StatusOr<Hello> hello = DecodeHello(frame->body);
  ASSERT_OK(hello);
  EXPECT_EQ(hello->role, "worker");
  EXPECT_EQ(hello->token, "");
  // Nor does it believe one that anybody could have read.
  Hello self = server_options().self;
  self.token = token_;
  ASSERT_OK(peer->Send(HelloFrame(self, FrameKind::kWelcome)));
  EXPECT_THAT(call.Get(), StatusIs(absl::StatusCode::kUnauthenticated,
                                   HasSubstr("inside TLS only")));
}

TEST_F(PlainTokenTest, ServerNeitherSendsNorBelievesIt) {
  ServerOptions options = server_options();
  options.self.token = token_;
  StartServer(options);
  Hello hello = raw_hello();
  hello.token = token_;
  const auto peer = NewRawPeer(false);
  ASSERT_OK(peer->Send(HelloFrame(hello)));
  const absl::StatusOr<RawFrame> answer = peer->ReceiveFrame();
  ASSERT_OK(answer);
  EXPECT_EQ(answer->header.kind, FrameKind::kRefuse);
  EXPECT_EQ(answer->header.code,
            static_cast<uint16_t>(absl::StatusCode::kUnauthenticated));
  EXPECT_THAT(answer->body, Not(HasSubstr(token_)));
}

}  // namespace
}  // namespace capstan::testing
