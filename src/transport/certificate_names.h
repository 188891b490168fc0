// Which tasks a certificate speaks for.
//
// A task's certificate names it in its subject alternative names, as URIs:
// "capstan:ps" stands for every parameter server, "capstan:worker/3" for one
// worker. Stream::peer_certificate returns those names without "capstan:",
// separated by commas: "ps", "worker/3", "chief/0,admin".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace capstan {

// The name in the URI "capstan:NAME", or nullopt for any other URI. A name is
// ROLE or ROLE/INDEX: lower-case letters, then at most nine digits without
// leading zeros.
std::optional<std::string> CertificateName(std::string_view uri);

// Whether a certificate with these `names` (as in peer_certificate) speaks for
// the task `role`/`index`.
bool CertificateNamesTask(std::string_view names, std::string_view role,
                          uint32_t index);

// Whether such a certificate speaks for any task of `role`.
bool CertificateNamesRole(std::string_view names, std::string_view role);

}  // namespace capstan
