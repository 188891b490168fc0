// Fills a directory with the certificates of a job, for `capstan certs`. For
// its contents, and how tasks use it, see launch/security/tls_directory.h.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/async/clock.h"

namespace capstan {

struct MakeCertificatesOptions {
  static constexpr int kMaxDays = 36'500;

  std::string directory;
  // The job's name for people who look at a certificate. If not given,
  // "capstan", or the name in the existing CA.
  std::optional<std::string> job = std::nullopt;
  int days = 365;   // days that tasks' certificates are valid; 1 to kMaxDays
  int workers = 0;  // besides the role's, one for each of the first `workers`
  int ps = 0;
  bool add = false;  // use the existing CA; keep existing files
};

struct MadeCertificates {
  // What was created, such as "ca", "chief", "worker-3": each NAME.pem and
  // NAME.key.
  std::vector<std::string> names;
  // Whether a token (launch/security/job_token.h) was also created, in the file
  // "token".
  bool token = false;
  // When the first of them, except the CA, expires; max() if none was created.
  WallTime not_after = WallTime::max();
};

// Creates a CA, valid for ten years or longer, certificates for each role, for
// admin and, on request, for single tasks, and a token. The directory is
// created (mode 0700) if its parent exists; every file has mode 0600.
//
// Nothing is overwritten. Without `add`: AlreadyExists, before anything is
// written, if any of the files exists. With `add`, whatever already has all its
// files is skipped. FailedPrecondition if only one file of a pair exists, or if
// users other than the owner can write into the directory; InvalidArgument for
// options out of range or a job that is not the CA's; also the errors of
// CertificateAuthority and FileSystem.
absl::StatusOr<MadeCertificates> MakeCertificates(
    const MakeCertificatesOptions& options, const Clock& clock);

}  // namespace capstan
