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

// The certificates in `path`, at least one, in order. `what` says what the file
// should be ("CA file"). Errors name the file, as in TlsContext::Load.
absl::StatusOr<std::vector<OpensslPtr<X509>>> ReadCertificates(
    const std::string& what, const std::string& path);

// The private key in `path`. PermissionDenied, with the remedy, if others than
// its owner can read it.
absl::StatusOr<OpensslPtr<EVP_PKEY>> ReadPrivateKey(const std::string& path);

// The content of a file that holds another kind of secret, up to 1 MiB. `what`
// says what it should be ("token file"). Symbolic links are followed; what
// counts is the file at their end. PermissionDenied, with the remedy, if others
// than its owner can read it, or if its owner is neither this process's user
// nor root: whoever owns it knows it. Other errors name the file, as in
// TlsContext::Load.
absl::StatusOr<std::string> ReadSecretFile(const std::string& what,
                                           const std::string& path);

// FailedPrecondition, with the date, if `certificate` of `path` is expired or
// not yet valid at `now`.
absl::Status CheckValidity(const std::string& path, const X509* certificate,
                           WallTime now);

// When it expires.
WallTime NotAfter(const X509* certificate);

}  // namespace capstan
