// A directory of certificates, as `capstan certs` makes it: ca.pem, and for
// each role ROLE.pem and ROLE.key, or ROLE-INDEX.pem and ROLE-INDEX.key for one
// task alone. A task's machine needs ca.pem and the task's own two files.
// Thread-safe.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "capstan/cluster_spec.h"
#include "transport/tls/tls_context.h"

namespace capstan {

// The files for `task`: those of ROLE-INDEX if there is such a certificate,
// otherwise those of ROLE. NotFound, naming the missing file and the command
// that makes it, if neither exists, or if the key or ca.pem is missing;
// PermissionDenied if the directory cannot be searched. TlsContext::Load checks
// the contents, and that nobody else can read the key.
absl::StatusOr<TlsOptions> FindTlsFiles(const std::string& directory,
                                        TaskId task);

// The same for people who inspect a job with `capstan status`: the files of
// "admin".
absl::StatusOr<TlsOptions> FindAdminTlsFiles(const std::string& directory);

}  // namespace capstan
