// A private certificate authority (CA): makes the keys and certificates with
// which the tasks of one job prove who they are. All keys are EC P-256.
// Certificates and keys are passed as PEM; storing them is up to the caller.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/async/clock.h"
#include "transport/tls/openssl.h"

namespace capstan {

// Who a certificate is for, and when it is valid.
struct CertificateSubject {
  std::string name;  // 1 to 64 bytes, for people
  std::string job;   // up to 64 bytes, for people; may be empty
  WallTime not_before = {};
  WallTime not_after = {};
};

// What else a task's certificate says.
struct CertificateUse {
  // Subject alternative names of type URI: "capstan:worker/3"
  // (transport/certificate_names.h). Not checked here.
  std::vector<std::string> uris;
  // None if empty.
  std::string extended_key_usage = "serverAuth,clientAuth";
};

// A certificate and its private key, in PEM. The key is a secret.
struct CertificateAndKey {
  std::string certificate;
  std::string key;
};

// Move-only. Const methods are thread-safe. Unless stated otherwise, a method
// fails only if OpenSSL does: Internal, with the reason.
class CertificateAuthority {
 public:
  // Makes a self-signed CA that may sign tasks' certificates only.
  // InvalidArgument if the length of the subject's name or job is out of range.
  static absl::StatusOr<CertificateAuthority> Create(
      const CertificateSubject& subject);

  // Loads a CA from its two files. Errors as in TlsContext::Load; also
  // InvalidArgument if the certificate is not a CA's.
  static absl::StatusOr<CertificateAuthority> Load(
      const std::string& certificate_file, const std::string& key_file,
      WallTime now);

  // The CA's certificate and key in PEM.
  absl::StatusOr<CertificateAndKey> ToPem() const;

  // Makes a new key and a certificate for it, signed by this CA.
  // InvalidArgument as in Create, and for URIs or usages that cannot be
  // encoded.
  absl::StatusOr<CertificateAndKey> Issue(const CertificateSubject& subject,
                                          const CertificateUse& use) const;

  // The job in the CA's own subject, and the end of the CA's validity, after
  // which no certificate that it signed is accepted.
  std::string job() const;
  WallTime not_after() const;

 private:
  CertificateAuthority(OpensslPtr<X509> certificate, OpensslPtr<EVP_PKEY> key);

  OpensslPtr<X509> certificate_;
  OpensslPtr<EVP_PKEY> key_;
};

}  // namespace capstan
