// Two tasks whose TLS does not fit: the one that is called says what is wrong
// with its callers, once, and not only that nobody got through.
#include <string>

#include "testing/real_worlds.h"
#include "testing/status_matchers.h"
#include "testing/transport_contract.h"

namespace capstan::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

struct Mistake {
  const char* name;
  WorldFactory make_world;
  const char* server_says;
  const char* client_says;
};

class TlsMistakeTest : public ::testing::TestWithParam<Mistake>,
                       public TransportHarness {
 protected:
  TlsMistakeTest() : TransportHarness(GetParam().make_world()) {}

  int Warnings() {
    int count = 0;
    for (const LogRecord& record : log().Records()) {
      if (record.level >= LogLevel::kWarning) ++count;
    }
    return count;
  }
};

TEST_P(TlsMistakeTest, BothSidesSayWhatIsWrong) {
  StartServer();
  const auto client = NewClient();
  // Until the server has met two attempts, of which a call may make several.
  std::string said;
  while (counters().connections_refused + counters().malformed < 2 ||
         said.find(GetParam().client_says) == std::string::npos) {
    CallRequest request;
    request.method = kEcho;
    request.options.timeout = std::chrono::milliseconds(20);
    const absl::Status status = client->Call(std::move(request)).status();
    ASSERT_FALSE(status.ok());
    said = std::string(status.message());
  }
  EXPECT_THAT(
      server().turned_away(),
      AllOf(HasSubstr("callers were turned away"), HasSubstr("127.0.0.1:"),
            HasSubstr(GetParam().server_says)));
  EXPECT_TRUE(log().Contains(GetParam().server_says)) << log().Text();
  EXPECT_EQ(Warnings(), 1) << log().Text();
  EXPECT_EQ(service().started(), 0);
}

std::string MistakeName(const ::testing::TestParamInfo<Mistake>& info) {
  return info.param.name;
}

INSTANTIATE_TEST_SUITE_P(
    All, TlsMistakeTest,
    ::testing::Values(Mistake{"ServerOnly", MakeTlsServerOnlyWorld,
                              "does not speak TLS", "if it uses TLS"},
                      Mistake{"ClientOnly", MakeTlsClientOnlyWorld,
                              "the peer uses TLS and this side does not",
                              "a peer without TLS"},
                      Mistake{"TwoAuthorities", MakeTwoAuthoritiesWorld,
                              "certificate", "certificate"}),
    MistakeName);

}  // namespace
}  // namespace capstan::testing
