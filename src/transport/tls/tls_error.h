// What went wrong in TLS, in words that say what to do about it.
#pragma once

#include "absl/status/status.h"
#include "transport/tls/openssl.h"

namespace capstan {

// The reason why a call on `ssl` has failed with SSL_get_error() == `error`.
// Unauthenticated if one side does not accept who the other is or says it is,
// or if the other does not speak TLS 1.3; Unavailable if the connection ended
// or its bytes were damaged. Forgets OpenSSL's errors of this thread.
absl::Status TlsError(const SSL* ssl, int error);

}  // namespace capstan
