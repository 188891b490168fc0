#include "launch/security/tls_directory.h"

#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace capstan {
namespace {

// Follows links: Kubernetes mounts a Secret as links.
absl::StatusOr<bool> Exists(const std::string& path) {
  std::error_code error;
  const std::filesystem::file_status status =
      std::filesystem::status(path, error);
  if (status.type() == std::filesystem::file_type::none) {
    const std::string message = absl::StrCat("'", path, "': ", error.message());
    return error == std::errc::permission_denied
               ? absl::PermissionDeniedError(message)
               : absl::UnavailableError(message);
  }
  return std::filesystem::exists(status);
}

absl::Status Require(const std::string& path, const std::string& remedy) {
  const absl::StatusOr<bool> exists = Exists(path);
  CAPSTAN_RETURN_IF_ERROR(exists.status());
  if (*exists) return absl::OkStatus();
  return absl::NotFoundError(
      absl::StrCat("TLS file '", path, "' is missing; ", remedy));
}

// The files NAME.pem and NAME.key.
absl::StatusOr<TlsOptions> FindFiles(const std::string& directory,
                                     const std::string& name) {
  const std::string prefix = directory + "/";
  TlsOptions files;
  files.ca_file = prefix + "ca.pem";
  files.certificate_file = absl::StrCat(prefix, name, ".pem");
  files.key_file = absl::StrCat(prefix, name, ".key");
  CAPSTAN_RETURN_IF_ERROR(
      Require(files.ca_file,
              absl::StrCat("copy it from where the job's certificates were "
                           "made, or make them with: capstan certs ",
                           directory)));
  const std::string remedy = absl::StrCat(
      "copy it from where the job's certificates were made, or make it there "
      "with: capstan certs ",
      directory, " --add");
  CAPSTAN_RETURN_IF_ERROR(Require(files.certificate_file, remedy));
  CAPSTAN_RETURN_IF_ERROR(Require(files.key_file, remedy));
  return files;
}

}  // namespace

absl::StatusOr<TlsOptions> FindTlsFiles(const std::string& directory,
                                        TaskId task) {
  const std::string role(RoleName(task.role));
  const std::string name = absl::StrCat(role, "-", task.index);
  const absl::StatusOr<bool> has_own =
      Exists(absl::StrCat(directory, "/", name, ".pem"));
  CAPSTAN_RETURN_IF_ERROR(has_own.status());
  return FindFiles(directory, *has_own ? name : role);
}

absl::StatusOr<TlsOptions> FindAdminTlsFiles(const std::string& directory) {
  return FindFiles(directory, "admin");
}

}  // namespace capstan
