// The files of a TlsContext, loaded into OpenSSL.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "base/async/clock.h"
#include "transport/tls/openssl.h"
#include "transport/tls/tls_context.h"

namespace capstan {

// Thread-safe: immutable, except for what OpenSSL locks itself.
struct TlsCredentials {
  OpensslPtr<SSL_CTX> context;
  std::string names;                     // the roles that the certificate names
  WallTime not_after = WallTime::max();  // the earliest of all certificates
};

// Reads the files and checks them as of `now`. Errors as in TlsContext::Load.
absl::StatusOr<std::shared_ptr<const TlsCredentials>> LoadTlsCredentials(
    const TlsOptions& options, WallTime now);

}  // namespace capstan
