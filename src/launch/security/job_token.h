// A secret that the tasks of one job share: 256 random bits. A file holds it as
// 64 hexadecimal digits on one line. It must be sent only inside TLS, and never
// logged or given on a command line.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace capstan {

// A value. Its memory is overwritten on destruction. As thread-safe as the
// standard containers.
class JobToken {
 public:
  static constexpr size_t kBytes = 32;

  // A new token, which nobody can predict. Internal if OpenSSL has no random
  // numbers.
  static absl::StatusOr<JobToken> Generate();

  // Reads the token in a file. The errors of ReadSecretFile
  // (transport/tls/credential_files.h), which refuses a file that others can
  // read or own; InvalidArgument if the file holds no token. No error quotes
  // the content.
  static absl::StatusOr<JobToken> Read(const std::string& path);

  JobToken(const JobToken&) = default;
  JobToken& operator=(const JobToken&) = default;
  ~JobToken();

  // Writes the token into a new file of mode 0600. AlreadyExists if anything of
  // that name exists, which is left unchanged; otherwise the errors of
  // FileSystem.
  absl::Status WriteNew(const std::string& path) const;

  // The kBytes bytes to send to another task: a view into this object.
  std::string_view bytes() const { return {bytes_.data(), bytes_.size()}; }

  // Whether `presented`, which a peer has sent, is this token. The time it
  // takes does not depend on where the first difference is.
  bool Matches(std::string_view presented) const;

 private:
  JobToken() = default;

  std::array<char, kBytes> bytes_ = {};
};

// The token in `file`, as --token gives it; nullopt if `file` is empty. The
// errors of Read; also FailedPrecondition without `tls`, because a token may be
// sent only inside TLS.
absl::StatusOr<std::optional<JobToken>> ReadTokenOption(const std::string& file,
                                                        bool tls);

}  // namespace capstan
