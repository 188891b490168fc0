// The worlds of real threads, one for each network, for tests that are written
// once and run over all of them. Test-only.
#pragma once

#include <memory>
#include <string>

#include "testing/transport_world.h"

namespace capstan::testing {

std::unique_ptr<TransportWorld> MakeTcpWorld();
std::unique_ptr<TransportWorld> MakeUnixWorld();
std::unique_ptr<TransportWorld> MakeInprocWorld();
// Both sides on one executor.
std::unique_ptr<TransportWorld> MakeInprocOneThreadWorld();
// The server shows a certificate for any "ps", the client one for any "worker".
std::unique_ptr<TransportWorld> MakeTlsOverTcpWorld();
std::unique_ptr<TransportWorld> MakeTlsOverInprocWorld();
// The same over TCP with certificates for these names.
std::unique_ptr<TransportWorld> MakeTlsWorldOf(const std::string& server,
                                               const std::string& client);

// Over TCP, what does not go together: only the server has TLS, only the
// client has, and both have it, with certificates of different authorities.
std::unique_ptr<TransportWorld> MakeTlsServerOnlyWorld();
std::unique_ptr<TransportWorld> MakeTlsClientOnlyWorld();
std::unique_ptr<TransportWorld> MakeTwoAuthoritiesWorld();

}  // namespace capstan::testing
