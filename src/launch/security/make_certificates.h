// Fills a directory with the certificates of a job, for `capstan certs`. What
// is in it, and how tasks use it: launch/security/tls_directory.h.
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
  // For people who look at a certificate. If not given, "capstan", or what the
  // CA says that is there already.
  std::optional<std::string> job = std::nullopt;
  int days = 365;   // how long tasks' certificates hold; 1 to kMaxDays
  int workers = 0;  // besides the role's, one for each of the first so many
  int ps = 0;
  bool add = false;  // use the CA that is there; keep the files that are there
};

struct MadeCertificates {
  // What was made, such as "ca", "chief", "worker-3": each NAME.pem and
  // NAME.key.
  std::vector<std::string> names;
  // Whether a token was made too (launch/security/job_token.h), in the file
  // "token".
  bool token = false;
  // When the first of them, the CA aside, expires; far away if there is none.
  WallTime not_after = WallTime::max();
};

// Makes a CA, which holds for ten years or longer, and certificates for each
// role, for admin, and for single tasks if asked for, and a token. The
// directory is created (mode 0700) if its parent is there; every file has mode
// 0600.
//
// Nothing is overwritten. AlreadyExists, before anything is written, if one of
// the files is there and `add` is not set; with `add`, what is there with all
// its files is left out. FailedPrecondition if only one of the two is there, or
// if others than the owner can write into the directory; InvalidArgument for
// options out of range or a job that is not the CA's; also the errors of
// CertificateAuthority and FileSystem.
absl::StatusOr<MadeCertificates> MakeCertificates(
    const MakeCertificatesOptions& options, const Clock& clock);

}  // namespace capstan
