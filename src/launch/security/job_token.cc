#include "launch/security/job_token.h"

#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/rand.h>

#include <filesystem>
#include <memory>
#include <optional>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "base/bytes.h"
#include "base/file/posix_file_system.h"
#include "base/status.h"
#include "transport/tls/credential_files.h"
#include "transport/tls/openssl.h"

namespace capstan {
namespace {

constexpr char kWhat[] = "token file";
constexpr std::string_view kDigits = "0123456789abcdef";

std::optional<unsigned> DigitValue(char c) {
  if (c >= 'A' && c <= 'F') c = static_cast<char>(c - 'A' + 'a');
  const size_t value = kDigits.find(c);
  if (value == std::string_view::npos) return std::nullopt;
  return static_cast<unsigned>(value);
}

absl::Status Malformed(const std::string& path, std::string_view why) {
  return absl::InvalidArgumentError(
      absl::StrCat(kWhat, " '", path, "' ", std::string(why),
                   "; make one with: (umask 077; openssl rand -hex ",
                   JobToken::kBytes, " > ", path, ")"));
}

}  // namespace

JobToken::~JobToken() { OPENSSL_cleanse(bytes_.data(), bytes_.size()); }

absl::StatusOr<JobToken> JobToken::Generate() {
  JobToken token;
  ERR_clear_error();
  if (RAND_priv_bytes(reinterpret_cast<unsigned char*>(token.bytes_.data()),
                      kBytes) != 1) {
    return absl::InternalError(
        absl::StrCat("cannot make a token: ", OpensslReason()));
  }
  return token;
}

absl::StatusOr<JobToken> JobToken::Read(const std::string& path) {
  absl::StatusOr<std::string> text = ReadSecretFile(kWhat, path);
  CAPSTAN_RETURN_IF_ERROR(text.status());
  const absl::Cleanup forget = [&text] {
    OPENSSL_cleanse(text->data(), text->size());
  };
  std::string_view digits = *text;
  if (digits.ends_with('\n')) digits.remove_suffix(1);
  if (digits.size() != 2 * kBytes) {
    return Malformed(
        path, absl::StrCat("has ", digits.size(), " characters instead of ",
                           2 * kBytes, " hexadecimal digits"));
  }
  JobToken token;
  for (size_t i = 0; i < kBytes; ++i) {
    const std::optional<unsigned> high = DigitValue(digits[2 * i]);
    const std::optional<unsigned> low = DigitValue(digits[2 * i + 1]);
    if (!high.has_value() || !low.has_value()) {
      return Malformed(path, "has a character that is no hexadecimal digit");
    }
    token.bytes_[i] = static_cast<char>(*high << 4 | *low);
  }
  return token;
}

absl::Status JobToken::WriteNew(const std::string& path) const {
  std::string text;
  text.reserve(2 * kBytes + 1);
  const absl::Cleanup forget = [&text] {
    OPENSSL_cleanse(text.data(), text.size());
  };
  for (const char byte : bytes_) {
    const auto value = static_cast<unsigned char>(byte);
    text += kDigits[value >> 4];
    text += kDigits[value & 15];
  }
  text += '\n';
  const std::filesystem::path parts(path);
  const std::string directory = parts.parent_path().string();
  const absl::StatusOr<std::unique_ptr<PosixFileSystem>> files =
      PosixFileSystem::Open(directory.empty() ? "." : directory);
  CAPSTAN_RETURN_IF_ERROR(files.status());
  const absl::StatusOr<std::unique_ptr<WritableFile>> file =
      (*files)->CreateForWrite(parts.filename().string(), IfExists::kFail);
  CAPSTAN_RETURN_IF_ERROR(file.status());
  CAPSTAN_RETURN_IF_ERROR((*file)->Append(AsBytes(text)));
  CAPSTAN_RETURN_IF_ERROR((*file)->Sync());
  return (*file)->Close();
}

bool JobToken::Matches(std::string_view presented) const {
  return presented.size() == kBytes &&
         CRYPTO_memcmp(presented.data(), bytes_.data(), kBytes) == 0;
}

absl::StatusOr<std::optional<JobToken>> ReadTokenOption(const std::string& file,
                                                        bool tls) {
  if (file.empty()) return std::nullopt;
  if (!tls) {
    return absl::FailedPreconditionError(
        absl::StrCat("a token ('", file,
                     "') is shown inside TLS only: give --tls DIR too, or "
                     "leave out --token and CAPSTAN_TOKEN"));
  }
  absl::StatusOr<JobToken> token = JobToken::Read(file);
  CAPSTAN_RETURN_IF_ERROR(token.status());
  return *std::move(token);
}

}  // namespace capstan
