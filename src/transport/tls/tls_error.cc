#include "transport/tls/tls_error.h"

#include <openssl/err.h>

#include <string>

#include "absl/strings/str_cat.h"

namespace capstan {
namespace {

// Whether an alert of the peer concerns our certificate.
bool IsAboutCertificate(int alert) {
  switch (alert) {
    case SSL_AD_HANDSHAKE_FAILURE:
    case SSL_AD_BAD_CERTIFICATE:
    case SSL_AD_UNSUPPORTED_CERTIFICATE:
    case SSL_AD_CERTIFICATE_REVOKED:
    case SSL_AD_CERTIFICATE_EXPIRED:
    case SSL_AD_CERTIFICATE_UNKNOWN:
    case SSL_AD_UNKNOWN_CA:
    case SSL_AD_ACCESS_DENIED:
    case SSL_AD_CERTIFICATE_REQUIRED:
      return true;
    default:
      return false;
  }
}

absl::Status FromAlert(int alert) {
  const std::string text = SSL_alert_desc_string_long(alert);
  if (IsAboutCertificate(alert)) {
    return absl::UnauthenticatedError(
        absl::StrCat("the peer does not accept our certificate: ", text));
  }
  if (alert == SSL_AD_PROTOCOL_VERSION) {
    return absl::UnauthenticatedError("the peer does not speak TLS 1.3");
  }
  return absl::UnavailableError(
      absl::StrCat("the peer ended the TLS connection: ", text));
}

absl::Status FromVerification(long result) {
  const std::string text = result == X509_V_ERR_APPLICATION_VERIFICATION
                               ? "it names no role (URI:capstan:ROLE)"
                               : X509_verify_cert_error_string(result);
  return absl::UnauthenticatedError(
      absl::StrCat("the peer's certificate is not accepted: ", text));
}

absl::Status FromReason(const SSL* ssl, int reason, const std::string& text) {
  switch (reason) {
    case SSL_R_CERTIFICATE_VERIFY_FAILED:
      return FromVerification(SSL_get_verify_result(ssl));
    case SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE:
      return absl::UnauthenticatedError("the peer shows no certificate");
    case SSL_R_WRONG_VERSION_NUMBER:
    case SSL_R_HTTP_REQUEST:
    case SSL_R_HTTPS_PROXY_REQUEST:
    case SSL_R_UNSUPPORTED_PROTOCOL:
    case SSL_R_UNKNOWN_PROTOCOL:
    case SSL_R_BAD_RECORD_TYPE:
      return absl::UnauthenticatedError(
          absl::StrCat("the peer does not speak TLS 1.3: ", text));
    default:
      return absl::UnavailableError(
          absl::StrCat("the TLS connection broke: ", text));
  }
}

}  // namespace

absl::Status TlsError(const SSL* ssl, int error) {
  if (error == SSL_ERROR_ZERO_RETURN) {
    return absl::UnavailableError("the peer closed the connection");
  }
  const unsigned long code = ERR_peek_error();
  const std::string text = OpensslReason();
  if (ERR_GET_LIB(code) != ERR_LIB_SSL) {
    return absl::UnavailableError(
        absl::StrCat("the TLS connection broke: ", text));
  }
  const int reason = ERR_GET_REASON(code);
  if (reason >= SSL_AD_REASON_OFFSET) {
    return FromAlert(reason - SSL_AD_REASON_OFFSET);
  }
  return FromReason(ssl, reason, text);
}

}  // namespace capstan
