// Every kind of stream keeps the contract of Stream.
#include "testing/stream_contract.h"

#include "testing/real_worlds.h"

namespace capstan::testing {
namespace {

using ::testing::Values;

INSTANTIATE_TEST_SUITE_P(Tcp, StreamContract, Values(MakeTcpWorld));
INSTANTIATE_TEST_SUITE_P(Unix, StreamContract, Values(MakeUnixWorld));
INSTANTIATE_TEST_SUITE_P(Inproc, StreamContract, Values(MakeInprocWorld));
INSTANTIATE_TEST_SUITE_P(InprocOneThread, StreamContract,
                         Values(MakeInprocOneThreadWorld));
INSTANTIATE_TEST_SUITE_P(TlsOverTcp, StreamContract,
                         Values(MakeTlsOverTcpWorld));
INSTANTIATE_TEST_SUITE_P(TlsOverInproc, StreamContract,
                         Values(MakeTlsOverInprocWorld));

}  // namespace
}  // namespace capstan::testing
