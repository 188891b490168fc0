// Turns a TLS error into a message that says what to do about it.
#pragma once

#include "absl/status/status.h"
#include "transport/tls/openssl.h"

namespace capstan {

// Why a call on `ssl` failed with SSL_get_error() == `error`. Unauthenticated
// if one side does not accept the other's identity, or if the other does not
// speak TLS 1.3; Unavailable if the connection ended or its bytes were damaged.
// Clears this thread's OpenSSL errors.
absl::Status TlsError(const SSL* ssl, int error);

}  // namespace capstan
