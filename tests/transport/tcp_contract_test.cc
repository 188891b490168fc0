// TCP and Unix sockets keep the contract of a transport.
#include "testing/real_worlds.h"
#include "testing/transport_contract.h"

namespace capstan::testing {
namespace {

INSTANTIATE_TEST_SUITE_P(Tcp, TransportContract,
                         ::testing::Values(MakeTcpWorld));
INSTANTIATE_TEST_SUITE_P(Unix, TransportContract,
                         ::testing::Values(MakeUnixWorld));

}  // namespace
}  // namespace capstan::testing
