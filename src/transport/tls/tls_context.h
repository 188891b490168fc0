// A task's TLS identity: the files it is made of, checked and loaded.
//
// TLS 1.3 only, and both sides show a certificate that a private CA has signed
// and that names a role (transport/certificate_names.h). The same identity
// serves to connect and to accept.
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

  // The same if one of the files is another than when they were last read
  // without an error: replaced, or written to. Returns whether that was so.
  // Does little otherwise, so it can be asked often.
  absl::StatusOr<bool> ReloadIfChanged();

  // What a new connection uses.
  std::shared_ptr<const TlsCredentials> credentials() const;
  // When the first of the certificates in use expires: the task's own, those
  // behind it, or the CA's.
  WallTime not_after() const;
  Clock& clock() const { return clock_; }

 private:
  TlsContext(Clock& clock, TlsOptions options)
      : clock_(clock), options_(std::move(options)) {}

  // What tells one state of the three files from another.
  using Stamps = std::array<FileStamp, 3>;
  Stamps StampFiles() const;

  Clock& clock_;
  const TlsOptions options_;
  mutable std::mutex mutex_;
  // Guarded by mutex_. The stamps are from before the credentials were read, so
  // that a change in between is seen later.
  std::shared_ptr<const TlsCredentials> credentials_;
  Stamps stamps_;
};

}  // namespace capstan
