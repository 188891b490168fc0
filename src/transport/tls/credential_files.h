// Reads the PEM files that a task's TLS identity is made of.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/clock.h"
#include "transport/tls/openssl.h"

namespace capstan {

// The certificates in `path`, at least one, in order. `what` says what the file
// should be ("CA file"). Errors name the file, as in TlsContext::Load.
absl::StatusOr<std::vector<OpensslPtr<X509>>> ReadCertificates(
    const std::string& what, const std::string& path);

// The private key in `path`. PermissionDenied, with the remedy, if others than
// its owner can read it.
absl::StatusOr<OpensslPtr<EVP_PKEY>> ReadPrivateKey(const std::string& path);

// FailedPrecondition, with the date, if `certificate` of `path` is expired or
// not yet valid at `now`.
absl::Status CheckValidity(const std::string& path, const X509* certificate,
                           WallTime now);

}  // namespace capstan
