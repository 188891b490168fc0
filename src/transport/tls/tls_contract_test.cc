// TLS over TCP keeps the contract of a transport.
#include "testing/real_worlds.h"
#include "testing/transport_contract.h"

namespace capstan::testing {
namespace {

INSTANTIATE_TEST_SUITE_P(Tls, TransportContract,
                         ::testing::Values(MakeTlsOverTcpWorld));

}  // namespace
}  // namespace capstan::testing
