// A task's TLS identity: the files it is made of, checked and loaded.
//
// TLS 1.3 only, and both sides show a certificate that a private CA has signed
// and that names a role (transport/certificate_names.h). The same identity
// serves to connect and to accept.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/clock.h"

namespace capstan {

// PEM files.
struct TlsOptions {
  std::string ca_file;           // the private CA's certificate, or several
  std::string certificate_file;  // the task's own, then any intermediate ones
  std::string key_file;          // its private key; only its owner may read it
};

// Who begins the handshake.
enum class TlsRole { kClient, kServer };

struct TlsCredentials;

// Thread-safe.
class TlsContext {
 public:
  // Reads and checks the files. Every error names the file and, if there is
  // one, the remedy. NotFound if it is not there; PermissionDenied if it cannot
  // be read, or is a key that others than its owner can read; InvalidArgument
  // if it does not hold what it should, or the files do not belong together;
  // FailedPrecondition if a certificate is expired or not valid yet. `clock`
  // must outlive the context.
  static absl::StatusOr<std::unique_ptr<TlsContext>> Load(Clock& clock,
                                                          TlsOptions options);

  // Reads the files again. New connections use what was read, old ones go on
  // with what they have. On an error, as in Load, nothing changes.
  absl::Status Reload();

  // What a new connection uses.
  std::shared_ptr<const TlsCredentials> credentials() const;
  Clock& clock() const { return clock_; }

 private:
  TlsContext(Clock& clock, TlsOptions options)
      : clock_(clock), options_(std::move(options)) {}

  Clock& clock_;
  const TlsOptions options_;
  mutable std::mutex mutex_;
  // Guarded by mutex_.
  std::shared_ptr<const TlsCredentials> credentials_;
};

}  // namespace capstan
