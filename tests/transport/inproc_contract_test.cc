// The network inside one process keeps the contract of a transport.
#include "testing/real_worlds.h"
#include "testing/transport_contract.h"

namespace capstan::testing {
namespace {

INSTANTIATE_TEST_SUITE_P(Inproc, TransportContract,
                         ::testing::Values(MakeInprocWorld));

}  // namespace
}  // namespace capstan::testing
