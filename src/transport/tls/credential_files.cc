#include "transport/tls/credential_files.h"

#include <fcntl.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <ctime>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"

namespace capstan {
namespace {

// Real files have a few KiB.
constexpr size_t kMaxFileBytes = 1 << 20;

absl::Status SystemError(const std::string& what, const std::string& path,
                         int error) {
  const std::string message =
      absl::StrCat(what, " '", path, "': ", std::strerror(error));
  if (error == ENOENT || error == ENOTDIR) return absl::NotFoundError(message);
  if (error == EACCES || error == EPERM) {
    return absl::PermissionDeniedError(message);
  }
  return absl::UnavailableError(message);
}

// "644".
std::string ModeText(mode_t mode) {
  std::string text;
  for (const int shift : {6, 3, 0}) {
    text += static_cast<char>('0' + ((mode >> shift) & 7));
  }
  return text;
}

// Who may have access to a file: anybody; its owner, who may be any user; or
// only this user and root.
enum class Access { kAnybody, kOwner, kSelf };

absl::Status CheckFile(const std::string& what, const std::string& path,
                       const struct stat& info, Access access) {
  if (!S_ISREG(info.st_mode)) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, " '", path, "' is not a file"));
  }
  // Check the opened file, not the one that may have its name by now.
  if (access != Access::kAnybody && (info.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
    return absl::PermissionDeniedError(absl::StrCat(
        what, " '", path, "' is open to others than its owner (mode ",
        ModeText(info.st_mode), "); run: chmod 600 ", path));
  }
  if (access == Access::kSelf && info.st_uid != ::geteuid() &&
      info.st_uid != 0) {
    return absl::PermissionDeniedError(
        absl::StrCat(what, " '", path, "' belongs to another user (uid ",
                     info.st_uid, "); run: chown ", ::geteuid(), " ", path));
  }
  return absl::OkStatus();
}

// Reads a whole file, unless others have access to it.
absl::StatusOr<std::string> ReadFile(const std::string& what,
                                     const std::string& path, Access access) {
  if (path.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("no ", what, " given"));
  }
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return SystemError(what, path, errno);
  const absl::Cleanup close = [fd] { ::close(fd); };
  struct stat info;
  if (::fstat(fd, &info) != 0) return SystemError(what, path, errno);
  const absl::Status allowed = CheckFile(what, path, info, access);
  if (!allowed.ok()) return allowed;
  std::string text(kMaxFileBytes, '\0');
  size_t size = 0;
  while (size < text.size()) {
    const ssize_t count = ::read(fd, &text[size], text.size() - size);
    if (count < 0) return SystemError(what, path, errno);
    if (count == 0) break;
    size += static_cast<size_t>(count);
  }
  if (size == kMaxFileBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, " '", path, "' is too large to be one"));
  }
  text.resize(size);
  return text;
}

OpensslPtr<BIO> NewBio(const std::string& text) {
  return OpensslPtr<BIO>(
      BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

std::string ToText(const ASN1_TIME* time) {
  const OpensslPtr<BIO> bio(BIO_new(BIO_s_mem()));
  ASN1_TIME_print(bio.get(), time);
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &data);
  return {data, static_cast<size_t>(size)};
}

}  // namespace

absl::StatusOr<std::vector<OpensslPtr<X509>>> ReadCertificates(
    const std::string& what, const std::string& path) {
  absl::StatusOr<std::string> text = ReadFile(what, path, Access::kAnybody);
  if (!text.ok()) return text.status();
  const OpensslPtr<BIO> bio = NewBio(*text);
  std::vector<OpensslPtr<X509>> certificates;
  ERR_clear_error();
  for (;;) {
    OpensslPtr<X509> certificate(
        PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr));
    if (certificate == nullptr) break;
    certificates.push_back(std::move(certificate));
  }
  // After the last one OpenSSL finds no further start line.
  const bool at_end =
      ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
  const std::string reason = OpensslReason();
  if (certificates.empty() || !at_end) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, " '", path, "' holds no PEM certificate: ", reason));
  }
  return certificates;
}

absl::StatusOr<OpensslPtr<EVP_PKEY>> ReadPrivateKey(const std::string& path) {
  const std::string what = "key file";
  absl::StatusOr<std::string> text = ReadFile(what, path, Access::kOwner);
  if (!text.ok()) return text.status();
  const absl::Cleanup forget = [&text] {
    OPENSSL_cleanse(text->data(), text->size());
  };
  const OpensslPtr<BIO> bio = NewBio(*text);
  // Without a callback OpenSSL would ask for a password on the terminal.
  const auto no_password = [](char*, int, int, void*) { return -1; };
  ERR_clear_error();
  OpensslPtr<EVP_PKEY> key(
      PEM_read_bio_PrivateKey(bio.get(), nullptr, no_password, nullptr));
  if (key == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat(
        what, " '", path,
        "' holds no PEM private key without a password: ", OpensslReason()));
  }
  return key;
}

absl::StatusOr<std::string> ReadSecretFile(const std::string& what,
                                           const std::string& path) {
  return ReadFile(what, path, Access::kSelf);
}

absl::Status CheckValidity(const std::string& path, const X509* certificate,
                           WallTime now) {
  std::time_t seconds =
      std::chrono::floor<std::chrono::seconds>(now).time_since_epoch().count();
  const ASN1_TIME* begin = X509_get0_notBefore(certificate);
  const ASN1_TIME* end = X509_get0_notAfter(certificate);
  if (X509_cmp_time(end, &seconds) < 0) {
    return absl::FailedPreconditionError(
        absl::StrCat("certificate '", path, "' expired on ", ToText(end)));
  }
  if (X509_cmp_time(begin, &seconds) > 0) {
    return absl::FailedPreconditionError(absl::StrCat(
        "certificate '", path, "' is not valid before ", ToText(begin)));
  }
  return absl::OkStatus();
}

WallTime NotAfter(const X509* certificate) {
  std::tm parts = {};
  ASN1_TIME_to_tm(X509_get0_notAfter(certificate), &parts);
  // Some certificates expire in the year 9999, which WallTime cannot represent.
  const std::chrono::seconds end(::timegm(&parts));
  return end < std::chrono::floor<std::chrono::seconds>(
                   WallTime::max().time_since_epoch())
             ? WallTime(end)
             : WallTime::max();
}

}  // namespace capstan
