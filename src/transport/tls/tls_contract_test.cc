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

}  // namespace
}  // namespace capstan::testing
