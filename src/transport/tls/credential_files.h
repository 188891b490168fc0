// Reads the PEM files that a task's TLS identity is made of, and other files
// that hold secrets.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/async/clock.h"
#include "transport/tls/openssl.h"

namespace capstan {

// Returns the certificates in `path`, at least one, in order. `what` says what
// the file should be ("CA file"). Errors name the file, as in TlsContext::Load.
absl::StatusOr<std::vector<OpensslPtr<X509>>> ReadCertificates(
    const std::string& what, const std::string& path);

// Returns the private key in `path`. PermissionDenied, with the remedy, if
// anyone but its owner can read it.
absl::StatusOr<OpensslPtr<EVP_PKEY>> ReadPrivateKey(const std::string& path);

// Returns the content of a file that holds another kind of secret, up to 1 MiB.
// `what` says what the file should be ("token file"). Follows symbolic links
// and checks the file at their end. PermissionDenied, with the remedy, if
// anyone but its owner can read it, or if its owner is neither this process's
// user nor root, since the owner knows the secret. Other errors name the file,
// as in TlsContext::Load.
absl::StatusOr<std::string> ReadSecretFile(const std::string& what,
                                           const std::string& path);

// FailedPrecondition, with the date, if `certificate` (read from `path`) is
// expired or not yet valid at `now`.
absl::Status CheckValidity(const std::string& path, const X509* certificate,
                           WallTime now);

// When `certificate` expires.
WallTime NotAfter(const X509* certificate);

}  // namespace capstan
