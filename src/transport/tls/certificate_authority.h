// A private certificate authority (CA): makes the keys and certificates with
// which the tasks of one job prove who they are. All keys are of EC P-256.
// Certificates and keys go in and out as PEM; where they are kept is the
// caller's business.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/async/clock.h"
#include "transport/tls/openssl.h"

namespace capstan {

// Who a certificate is for, and when it holds.
struct CertificateSubject {
  std::string name;  // 1 to 64 bytes, for people
  std::string job;   // up to 64 bytes, for people; may be empty
  WallTime not_before = {};
  WallTime not_after = {};
};

// What a task's certificate says besides.
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

// Move-only. Const methods are thread-safe. Unless it says otherwise, a method
// fails with Internal alone, if OpenSSL does, and says why.
class CertificateAuthority {
 public:
  // A new one, which has signed itself and may sign tasks' certificates only.
  // InvalidArgument if the subject's name or job has no sound length.
  static absl::StatusOr<CertificateAuthority> Create(
      const CertificateSubject& subject);

  // The one that the two files hold. Errors as in TlsContext::Load; and
  // InvalidArgument if the certificate is not a CA's.
  static absl::StatusOr<CertificateAuthority> Load(
      const std::string& certificate_file, const std::string& key_file,
      WallTime now);

  // Both in PEM.
  absl::StatusOr<CertificateAndKey> ToPem() const;

  // A new key, and a certificate for it that this CA has signed.
  // InvalidArgument as in Create, and for URIs or usages that cannot be
  // written.
  absl::StatusOr<CertificateAndKey> Issue(const CertificateSubject& subject,
                                          const CertificateUse& use) const;

  // The job of its own subject, and the end of its validity, after which what
  // it has signed is worth nothing.
  std::string job() const;
  WallTime not_after() const;

 private:
  CertificateAuthority(OpensslPtr<X509> certificate, OpensslPtr<EVP_PKEY> key);

  OpensslPtr<X509> certificate_;
  OpensslPtr<EVP_PKEY> key_;
};

}  // namespace capstan
