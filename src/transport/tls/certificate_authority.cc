#include "transport/tls/certificate_authority.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/rand.h>

#include <array>
#include <chrono>
#include <ctime>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "transport/tls/credential_files.h"

namespace capstan {
namespace {

// X.509's limit for each of the subject's two parts.
constexpr size_t kMaxNameBytes = 64;
constexpr size_t kSerialBytes = 16;

// OK if `good`; otherwise Internal with OpenSSL's reason.
absl::Status Require(bool good, const char* what) {
  if (good) return absl::OkStatus();
  return absl::InternalError(
      absl::StrCat("cannot ", what, ": ", OpensslReason()));
}

std::time_t Seconds(WallTime time) {
  return std::chrono::floor<std::chrono::seconds>(time)
      .time_since_epoch()
      .count();
}

absl::StatusOr<OpensslPtr<EVP_PKEY>> NewKey() {
  ERR_clear_error();
  OpensslPtr<EVP_PKEY> key(EVP_EC_gen("P-256"));
  CAPSTAN_RETURN_IF_ERROR(Require(key != nullptr, "make a key"));
  return key;
}

absl::Status CheckSubject(const CertificateSubject& subject) {
  if (subject.name.empty() || subject.name.size() > kMaxNameBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("a certificate's name must have 1 to ", kMaxNameBytes,
                     " bytes, not ", subject.name.size()));
  }
  if (subject.job.size() > kMaxNameBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("a job's name in a certificate may have ", kMaxNameBytes,
                     " bytes, not ", subject.job.size()));
  }
  return absl::OkStatus();
}

bool AddName(X509_NAME* into, const char* field, const std::string& value) {
  return value.empty() ||
         X509_NAME_add_entry_by_txt(
             into, field, MBSTRING_UTF8,
             reinterpret_cast<const unsigned char*>(value.data()),
             static_cast<int>(value.size()), -1, 0) == 1;
}

// Random, so that no two certificates of a CA share it, and never negative.
bool SetSerial(X509* certificate) {
  std::array<unsigned char, kSerialBytes> serial;
  if (RAND_bytes(serial.data(), serial.size()) != 1) return false;
  serial[0] = static_cast<unsigned char>((serial[0] & 0x3f) | 0x40);
  return ASN1_STRING_set(X509_get_serialNumber(certificate), serial.data(),
                         serial.size()) == 1;
}

// Makes a certificate without extensions, issuer and signature.
absl::StatusOr<OpensslPtr<X509>> NewCertificate(
    const CertificateSubject& subject, EVP_PKEY* key) {
  CAPSTAN_RETURN_IF_ERROR(CheckSubject(subject));
  ERR_clear_error();
  OpensslPtr<X509> certificate(X509_new());
  CAPSTAN_RETURN_IF_ERROR(
      Require(certificate != nullptr, "make a certificate"));
  X509* made = certificate.get();
  X509_NAME* name = X509_get_subject_name(made);
  const bool good =
      X509_set_version(made, X509_VERSION_3) == 1 && SetSerial(made) &&
      ASN1_TIME_set(X509_getm_notBefore(made), Seconds(subject.not_before)) !=
          nullptr &&
      ASN1_TIME_set(X509_getm_notAfter(made), Seconds(subject.not_after)) !=
          nullptr &&
      AddName(name, "O", subject.job) && AddName(name, "CN", subject.name) &&
      X509_set_pubkey(made, key) == 1;
  CAPSTAN_RETURN_IF_ERROR(Require(good, "fill in a certificate"));
  return certificate;
}

absl::Status AddExtension(X509* certificate, X509* issuer, int type,
                          const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  ERR_clear_error();
  X509_EXTENSION* extension =
      X509V3_EXT_conf_nid(nullptr, &context, type, value.c_str());
  const absl::Cleanup free = [extension] { X509_EXTENSION_free(extension); };
  if (extension == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat(
        "cannot write '", value, "' into a certificate: ", OpensslReason()));
  }
  return Require(X509_add_ext(certificate, extension, -1) == 1,
                 "add to a certificate");
}

bool AppendUri(GENERAL_NAMES* names, const std::string& uri) {
  GENERAL_NAME* name = GENERAL_NAME_new();
  ASN1_IA5STRING* text = ASN1_IA5STRING_new();
  if (name == nullptr || text == nullptr ||
      ASN1_STRING_set(text, uri.data(), static_cast<int>(uri.size())) != 1) {
    GENERAL_NAME_free(name);
    ASN1_IA5STRING_free(text);
    return false;
  }
  GENERAL_NAME_set0_value(name, GEN_URI, text);
  if (sk_GENERAL_NAME_push(names, name) > 0) return true;
  GENERAL_NAME_free(name);
  return false;
}

// Avoids OpenSSL's configuration language, in which a comma in a URI would
// begin another name.
absl::Status AddUris(X509* certificate, const std::vector<std::string>& uris) {
  if (uris.empty()) return absl::OkStatus();
  ERR_clear_error();
  const OpensslPtr<GENERAL_NAMES> names(GENERAL_NAMES_new());
  bool good = names != nullptr;
  for (const std::string& uri : uris) {
    good = good && AppendUri(names.get(), uri);
  }
  good = good && X509_add1_ext_i2d(certificate, NID_subject_alt_name,
                                   names.get(), 0, X509V3_ADD_DEFAULT) == 1;
  return Require(good, "name a certificate");
}

absl::Status Sign(X509* certificate, X509* issuer, EVP_PKEY* key) {
  CAPSTAN_RETURN_IF_ERROR(
      AddExtension(certificate, issuer, NID_subject_key_identifier, "hash"));
  CAPSTAN_RETURN_IF_ERROR(AddExtension(
      certificate, issuer, NID_authority_key_identifier, "keyid:always"));
  ERR_clear_error();
  const bool good =
      X509_set_issuer_name(certificate, X509_get_subject_name(issuer)) == 1 &&
      X509_sign(certificate, key, EVP_sha256()) > 0;
  return Require(good, "sign a certificate");
}

// Returns what `write` writes into a BIO.
template <typename Write>
absl::StatusOr<std::string> WritePem(const Write& write) {
  ERR_clear_error();
  const OpensslPtr<BIO> bio(BIO_new(BIO_s_mem()));
  CAPSTAN_RETURN_IF_ERROR(
      Require(bio != nullptr && write(bio.get()) == 1, "write PEM"));
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &data);
  return std::string(data, static_cast<size_t>(size));
}

absl::StatusOr<CertificateAndKey> WriteBoth(X509* certificate, EVP_PKEY* key) {
  absl::StatusOr<std::string> certificate_pem =
      WritePem([&](BIO* bio) { return PEM_write_bio_X509(bio, certificate); });
  CAPSTAN_RETURN_IF_ERROR(certificate_pem.status());
  absl::StatusOr<std::string> key_pem = WritePem([&](BIO* bio) {
    return PEM_write_bio_PrivateKey(bio, key, nullptr, nullptr, 0, nullptr,
                                    nullptr);
  });
  CAPSTAN_RETURN_IF_ERROR(key_pem.status());
  return CertificateAndKey{*std::move(certificate_pem), *std::move(key_pem)};
}

}  // namespace

CertificateAuthority::CertificateAuthority(OpensslPtr<X509> certificate,
                                           OpensslPtr<EVP_PKEY> key)
    : certificate_(std::move(certificate)), key_(std::move(key)) {}

absl::StatusOr<CertificateAuthority> CertificateAuthority::Create(
    const CertificateSubject& subject) {
  absl::StatusOr<OpensslPtr<EVP_PKEY>> key = NewKey();
  CAPSTAN_RETURN_IF_ERROR(key.status());
  absl::StatusOr<OpensslPtr<X509>> certificate =
      NewCertificate(subject, key->get());
  CAPSTAN_RETURN_IF_ERROR(certificate.status());
  X509* made = certificate->get();
  CAPSTAN_RETURN_IF_ERROR(AddExtension(made, made, NID_basic_constraints,
                                       "critical,CA:TRUE,pathlen:0"));
  CAPSTAN_RETURN_IF_ERROR(
      AddExtension(made, made, NID_key_usage, "critical,keyCertSign,cRLSign"));
  CAPSTAN_RETURN_IF_ERROR(Sign(made, made, key->get()));
  return CertificateAuthority(*std::move(certificate), *std::move(key));
}

absl::StatusOr<CertificateAuthority> CertificateAuthority::Load(
    const std::string& certificate_file, const std::string& key_file,
    WallTime now) {
  absl::StatusOr<std::vector<OpensslPtr<X509>>> certificates =
      ReadCertificates("CA file", certificate_file);
  CAPSTAN_RETURN_IF_ERROR(certificates.status());
  OpensslPtr<X509> certificate = std::move(certificates->front());
  CAPSTAN_RETURN_IF_ERROR(
      CheckValidity(certificate_file, certificate.get(), now));
  absl::StatusOr<OpensslPtr<EVP_PKEY>> key = ReadPrivateKey(key_file);
  CAPSTAN_RETURN_IF_ERROR(key.status());
  if (X509_check_ca(certificate.get()) != 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        "certificate '", certificate_file, "' is a task's, not a CA's"));
  }
  if (X509_check_private_key(certificate.get(), key->get()) != 1) {
    ERR_clear_error();
    return absl::InvalidArgumentError(absl::StrCat(
        "key file '", key_file, "' does not belong to certificate '",
        certificate_file, "'"));
  }
  return CertificateAuthority(std::move(certificate), *std::move(key));
}

absl::StatusOr<CertificateAndKey> CertificateAuthority::ToPem() const {
  return WriteBoth(certificate_.get(), key_.get());
}

absl::StatusOr<CertificateAndKey> CertificateAuthority::Issue(
    const CertificateSubject& subject, const CertificateUse& use) const {
  absl::StatusOr<OpensslPtr<EVP_PKEY>> key = NewKey();
  CAPSTAN_RETURN_IF_ERROR(key.status());
  absl::StatusOr<OpensslPtr<X509>> certificate =
      NewCertificate(subject, key->get());
  CAPSTAN_RETURN_IF_ERROR(certificate.status());
  X509* made = certificate->get();
  X509* issuer = certificate_.get();
  CAPSTAN_RETURN_IF_ERROR(AddUris(made, use.uris));
  if (!use.extended_key_usage.empty()) {
    CAPSTAN_RETURN_IF_ERROR(
        AddExtension(made, issuer, NID_ext_key_usage, use.extended_key_usage));
  }
  CAPSTAN_RETURN_IF_ERROR(
      AddExtension(made, issuer, NID_basic_constraints, "critical,CA:FALSE"));
  CAPSTAN_RETURN_IF_ERROR(
      AddExtension(made, issuer, NID_key_usage, "critical,digitalSignature"));
  CAPSTAN_RETURN_IF_ERROR(Sign(made, issuer, key_.get()));
  return WriteBoth(made, key->get());
}

std::string CertificateAuthority::job() const {
  std::array<char, kMaxNameBytes* 4 + 1> text = {};
  const int size = X509_NAME_get_text_by_NID(
      X509_get_subject_name(certificate_.get()), NID_organizationName,
      text.data(), static_cast<int>(text.size()));
  return size < 0 ? "" : std::string(text.data());
}

WallTime CertificateAuthority::not_after() const {
  return NotAfter(certificate_.get());
}

}  // namespace capstan
