// Makes certificate authorities and certificates for tests of TLS. Test-only.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "base/async/clock.h"
#include "transport/tls/certificate_authority.h"
#include "transport/tls/tls_context.h"

namespace capstan::testing {

struct CertificateOptions {
  // Subject alternative names of type URI.
  std::vector<std::string> uris = {"capstan:worker/0"};
  WallTime not_before =
      std::chrono::system_clock::now() - std::chrono::hours(1);
  WallTime not_after = std::chrono::system_clock::now() + std::chrono::hours(1);
  // Such as "serverAuth"; none if empty.
  std::string extended_key_usage;
};

// A private CA with its key in memory and its certificate in a file: what
// transport/tls/certificate_authority.h makes, written to disk. Aborts on
// failure.
class TestAuthority {
 public:
  // Writes NAME.pem into `directory`.
  explicit TestAuthority(const std::string& directory,
                         const std::string& name = "ca");

  const std::string& ca_file() const { return ca_file_; }

  // Makes a key and a certificate signed by this CA and writes them as NAME.pem
  // and NAME.key (mode 600) into the directory. Returns everything that a task
  // needs.
  TlsOptions Issue(const std::string& name,
                   const CertificateOptions& options) const;

  // The same for one role name, such as "ps/0".
  TlsOptions Issue(const std::string& name, const std::string& role) const;

 private:
  const std::string directory_;
  const std::string ca_file_;
  const CertificateAuthority authority_;
};

}  // namespace capstan::testing
