#include "testing/test_certificates.h"

#include <sys/stat.h>

#include <cstdio>
#include <cstdlib>
#include <utility>

#include "absl/status/statusor.h"
#include "base/status.h"

namespace capstan::testing {
namespace {

void Require(bool good, const std::string& what) {
  if (good) return;
  std::fprintf(stderr, "cannot make test certificates: %s\n", what.c_str());
  std::abort();
}

template <typename T>
T Require(absl::StatusOr<T> made) {
  Require(made.ok(), Describe(made.status()));
  return *std::move(made);
}

void WriteFile(const std::string& path, mode_t mode, const std::string& text) {
  std::FILE* file = std::fopen(path.c_str(), "w");
  Require(file != nullptr, path);
  Require(::fchmod(::fileno(file), mode) == 0, path);
  Require(std::fwrite(text.data(), 1, text.size(), file) == text.size(), path);
  Require(std::fclose(file) == 0, path);
}

CertificateAuthority NewAuthority(const std::string& name) {
  // Valid for longer than the certificates that it signs, so that only those
  // expire.
  const CertificateOptions options;
  const auto ten_years = std::chrono::hours(24 * 365 * 10);
  return Require(CertificateAuthority::Create(
      {.name = "Capstan test CA " + name,
       .job = "",
       .not_before = options.not_before - ten_years,
       .not_after = options.not_after + ten_years}));
}

}  // namespace

TestAuthority::TestAuthority(const std::string& directory,
                             const std::string& name)
    : directory_(directory),
      ca_file_(directory + "/" + name + ".pem"),
      authority_(NewAuthority(name)) {
  WriteFile(ca_file_, 0644, Require(authority_.ToPem()).certificate);
}

TlsOptions TestAuthority::Issue(const std::string& name,
                                const CertificateOptions& options) const {
  const CertificateAndKey issued = Require(
      authority_.Issue({.name = name,
                        .job = "",
                        .not_before = options.not_before,
                        .not_after = options.not_after},
                       {.uris = options.uris,
                        .extended_key_usage = options.extended_key_usage}));
  TlsOptions files;
  files.ca_file = ca_file_;
  files.certificate_file = directory_ + "/" + name + ".pem";
  files.key_file = directory_ + "/" + name + ".key";
  WriteFile(files.certificate_file, 0644, issued.certificate);
  WriteFile(files.key_file, 0600, issued.key);
  return files;
}

TlsOptions TestAuthority::Issue(const std::string& name,
                                const std::string& role) const {
  CertificateOptions options;
  options.uris = {"capstan:" + role};
  return Issue(name, options);
}

}  // namespace capstan::testing
