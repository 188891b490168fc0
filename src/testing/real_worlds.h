// The worlds of real threads, one for each network, for tests that are written
// once and run over all of them. Test-only.
#pragma once

#include <memory>

#include "testing/transport_world.h"

namespace capstan::testing {

std::unique_ptr<TransportWorld> MakeTcpWorld();
std::unique_ptr<TransportWorld> MakeUnixWorld();
std::unique_ptr<TransportWorld> MakeInprocWorld();
// Both sides on one executor.
std::unique_ptr<TransportWorld> MakeInprocOneThreadWorld();
// The server shows a certificate for "ps/0", the client one for "worker/3".
std::unique_ptr<TransportWorld> MakeTlsOverTcpWorld();
std::unique_ptr<TransportWorld> MakeTlsOverInprocWorld();

}  // namespace capstan::testing
