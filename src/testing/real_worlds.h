// The worlds of real threads, one per network, for tests that are written once
// and run over all of them. Test-only.
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
// The server's certificate is for any "ps", the client's for any "worker".
std::unique_ptr<TransportWorld> MakeTlsOverTcpWorld();
std::unique_ptr<TransportWorld> MakeTlsOverInprocWorld();
// The same over TCP with certificates for these names.
std::unique_ptr<TransportWorld> MakeTlsWorldOf(const std::string& server,
                                               const std::string& client);

// Over TCP, incompatible pairs: only the server has TLS, only the client has
// it, and both have it, but with certificates from different authorities.
std::unique_ptr<TransportWorld> MakeTlsServerOnlyWorld();
std::unique_ptr<TransportWorld> MakeTlsClientOnlyWorld();
std::unique_ptr<TransportWorld> MakeTwoAuthoritiesWorld();

}  // namespace capstan::testing
