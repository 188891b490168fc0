// A task's TLS identity, loaded from its files and checked.
//
// TLS 1.3 only. Both sides show a certificate that is signed by a private CA
// and names a role (transport/certificate_names.h). The same identity serves
// for connecting and accepting.
#pragma once

#include <array>
#include <memory>
#include <mutex>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/async/clock.h"
#include "transport/tls/file_stamp.h"

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
  // one, the remedy. NotFound if a file does not exist; PermissionDenied if it
  // cannot be read, or is a key that anyone but its owner can read;
  // InvalidArgument if it does not hold what it should, or the files do not
  // belong together; FailedPrecondition if a certificate is expired or not yet
  // valid. `clock` must outlive the context.
  static absl::StatusOr<std::unique_ptr<TlsContext>> Load(Clock& clock,
                                                          TlsOptions options);

  // Reads the files again. New connections use the new credentials; existing
  // ones keep theirs. On an error, as in Load, nothing changes.
  absl::Status Reload();

  // Reloads if one of the files was replaced or written to since they were last
  // read without an error. Returns whether that was so. Cheap if not, so it may
  // be called often.
  absl::StatusOr<bool> ReloadIfChanged();

  // The credentials for new connections.
  std::shared_ptr<const TlsCredentials> credentials() const;
  // When the first of the certificates in use expires: the task's own, the
  // intermediate ones or the CA's.
  WallTime not_after() const;
  Clock& clock() const { return clock_; }

 private:
  TlsContext(Clock& clock, TlsOptions options)
      : clock_(clock), options_(std::move(options)) {}

  // Identifies a state of the three files.
  using Stamps = std::array<FileStamp, 3>;
  Stamps StampFiles() const;

  Clock& clock_;
  const TlsOptions options_;
  mutable std::mutex mutex_;
  // Guarded by mutex_. The stamps are taken before the credentials are read, so
  // that a change in between is noticed at the next check.
  std::shared_ptr<const TlsCredentials> credentials_;
  Stamps stamps_;
};

}  // namespace capstan
