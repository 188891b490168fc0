// A secret that the tasks of one job share: 256 random bits. In a file it is 64
// hexadecimal digits on one line. It is to be sent inside TLS only, and never
// to be logged or given on a command line.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace capstan {

// A value. Its memory is overwritten at destruction. Thread-safe as the
// standard containers.
class JobToken {
 public:
  static constexpr size_t kBytes = 32;

  // A new one, which nobody can foretell. Internal if OpenSSL has no random
  // numbers.
  static absl::StatusOr<JobToken> Generate();

  // The one in a file. The errors of ReadSecretFile
  // (transport/tls/credential_files.h), which refuses what others can read or
  // own; InvalidArgument if the file holds no token. None quotes the content.
  static absl::StatusOr<JobToken> Read(const std::string& path);

  JobToken(const JobToken&) = default;
  JobToken& operator=(const JobToken&) = default;
  ~JobToken();

  // Writes it into a new file of mode 0600. AlreadyExists, and nothing is
  // changed, if there is anything of that name; else the errors of FileSystem.
  absl::Status WriteNew(const std::string& path) const;

  // Its kBytes bytes, to be sent to another task: a view of this object.
  std::string_view bytes() const { return {bytes_.data(), bytes_.size()}; }

  // Whether `presented`, which a peer has sent, is this token. Takes the same
  // time wherever the first difference is.
  bool Matches(std::string_view presented) const;

 private:
  JobToken() = default;

  std::array<char, kBytes> bytes_ = {};
};

// The token in `file`, as --token gives it; nothing if that is empty. As Read;
// and FailedPrecondition without `tls`, inside of which alone it may be sent.
absl::StatusOr<std::optional<JobToken>> ReadTokenOption(const std::string& file,
                                                        bool tls);

}  // namespace capstan
