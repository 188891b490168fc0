#include "transport/tls/tls_credentials.h"

#include <openssl/err.h>

#include <algorithm>
#include <ctime>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "transport/tls/credential_files.h"

namespace capstan {
namespace {

using Certificates = std::vector<OpensslPtr<X509>>;

// All three are secure. The first is the fastest with AES instructions, and the
// server chooses by its own order.
constexpr char kCipherSuites[] =
    "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:"
    "TLS_CHACHA20_POLY1305_SHA256";

// Called for each certificate of a peer's chain; `good` is OpenSSL's verdict.
int VerifyPeer(int good, X509_STORE_CTX* store) {
  if (good != 1 || X509_STORE_CTX_get_error_depth(store) != 0) return good;
  if (!RoleNames(X509_STORE_CTX_get_current_cert(store)).empty()) return 1;
  X509_STORE_CTX_set_error(store, X509_V_ERR_APPLICATION_VERIFICATION);
  return 0;
}

OpensslPtr<SSL_CTX> NewContext() {
  OpensslPtr<SSL_CTX> context(SSL_CTX_new(TLS_method()));
  if (context == nullptr) return context;
  SSL_CTX_set_min_proto_version(context.get(), TLS1_3_VERSION);
  SSL_CTX_set_max_proto_version(context.get(), TLS1_3_VERSION);
  SSL_CTX_set_ciphersuites(context.get(), kCipherSuites);
  SSL_CTX_set_verify(context.get(),
                     SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT,
                     VerifyPeer);
  // No session resumption: every connection shows and checks certificates.
  SSL_CTX_set_session_cache_mode(context.get(), SSL_SESS_CACHE_OFF);
  SSL_CTX_set_num_tickets(context.get(), 0);
  SSL_CTX_set_options(context.get(),
                      SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_NO_TICKET);
  // Otherwise an idle connection would keep 34 KiB of OpenSSL's buffers.
  SSL_CTX_set_mode(context.get(), SSL_MODE_RELEASE_BUFFERS);
  return context;
}

absl::Status AddCa(const std::string& path, WallTime now,
                   TlsCredentials& credentials) {
  absl::StatusOr<Certificates> certificates = ReadCertificates("CA file", path);
  if (!certificates.ok()) return certificates.status();
  for (const OpensslPtr<X509>& certificate : *certificates) {
    const absl::Status valid = CheckValidity(path, certificate.get(), now);
    if (!valid.ok()) return valid;
    X509_STORE_add_cert(SSL_CTX_get_cert_store(credentials.context.get()),
                        certificate.get());
    credentials.not_after =
        std::min(credentials.not_after, NotAfter(certificate.get()));
  }
  return absl::OkStatus();
}

// Checks that peers that trust the same CA will accept the certificate.
absl::Status CheckSignature(const TlsOptions& options, X509* certificate,
                            WallTime now, SSL_CTX* context) {
  STACK_OF(X509)* chain = nullptr;
  SSL_CTX_get0_chain_certs(context, &chain);
  const OpensslPtr<X509_STORE_CTX> store(X509_STORE_CTX_new());
  X509_STORE_CTX_init(store.get(), SSL_CTX_get_cert_store(context), certificate,
                      chain);
  X509_STORE_CTX_set_time(
      store.get(), 0,
      std::chrono::floor<std::chrono::seconds>(now).time_since_epoch().count());
  if (X509_verify_cert(store.get()) == 1) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "certificate '", options.certificate_file, "' is not accepted by CA '",
      options.ca_file, "': ",
      X509_verify_cert_error_string(X509_STORE_CTX_get_error(store.get()))));
}

absl::Status UseCertificates(const TlsOptions& options, WallTime now,
                             TlsCredentials& credentials) {
  const std::string& path = options.certificate_file;
  absl::StatusOr<Certificates> certificates =
      ReadCertificates("certificate file", path);
  if (!certificates.ok()) return certificates.status();
  SSL_CTX* context = credentials.context.get();
  X509* own = certificates->front().get();
  for (const OpensslPtr<X509>& certificate : *certificates) {
    const absl::Status valid = CheckValidity(path, certificate.get(), now);
    if (!valid.ok()) return valid;
    credentials.not_after =
        std::min(credentials.not_after, NotAfter(certificate.get()));
    if (certificate.get() != own) {
      SSL_CTX_add1_chain_cert(context, certificate.get());
    }
  }
  ERR_clear_error();
  if (SSL_CTX_use_certificate(context, own) != 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        "certificate '", path, "' cannot be used: ", OpensslReason()));
  }
  credentials.names = RoleNames(own);
  if (credentials.names.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("certificate '", path,
                     "' names no role; it needs a subject "
                     "alternative name such as URI:capstan:worker/0"));
  }
  if (X509_check_purpose(own, X509_PURPOSE_SSL_CLIENT, 0) != 1 ||
      X509_check_purpose(own, X509_PURPOSE_SSL_SERVER, 0) != 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        "certificate '", path,
        "' must be good for both sides of TLS; it "
        "needs extended key usages serverAuth and clientAuth, or none"));
  }
  return CheckSignature(options, own, now, context);
}

absl::Status UseKey(const TlsOptions& options, SSL_CTX* context) {
  absl::StatusOr<OpensslPtr<EVP_PKEY>> key = ReadPrivateKey(options.key_file);
  if (!key.ok()) return key.status();
  if (X509_check_private_key(SSL_CTX_get0_certificate(context), key->get()) !=
      1) {
    ERR_clear_error();
    return absl::InvalidArgumentError(absl::StrCat(
        "key file '", options.key_file, "' does not belong to certificate '",
        options.certificate_file, "'"));
  }
  ERR_clear_error();
  if (SSL_CTX_use_PrivateKey(context, key->get()) != 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        "key file '", options.key_file, "' cannot be used: ", OpensslReason()));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::shared_ptr<const TlsCredentials>> LoadTlsCredentials(
    const TlsOptions& options, WallTime now) {
  auto credentials = std::make_shared<TlsCredentials>();
  credentials->context = NewContext();
  SSL_CTX* context = credentials->context.get();
  if (context == nullptr) return absl::InternalError(OpensslReason());
  CAPSTAN_RETURN_IF_ERROR(AddCa(options.ca_file, now, *credentials));
  CAPSTAN_RETURN_IF_ERROR(UseCertificates(options, now, *credentials));
  CAPSTAN_RETURN_IF_ERROR(UseKey(options, context));
  return credentials;
}

}  // namespace capstan
