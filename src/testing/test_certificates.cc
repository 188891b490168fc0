#include "testing/test_certificates.h"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>

#include <cstdio>
#include <cstdlib>
#include <utility>

#include "transport/tls/openssl.h"

namespace capstan::testing {
namespace {

void Require(bool good) {
  if (good) return;
  std::fprintf(stderr, "cannot make test certificates: %s\n",
               OpensslReason().c_str());
  std::abort();
}

OpensslPtr<EVP_PKEY> NewKey() {
  OpensslPtr<EVP_PKEY> key(EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519"));
  Require(key != nullptr);
  return key;
}

std::time_t Seconds(WallTime time) {
  return std::chrono::floor<std::chrono::seconds>(time)
      .time_since_epoch()
      .count();
}

void AddExtension(X509* certificate, X509* issuer, int type,
                  const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* extension =
      X509V3_EXT_conf_nid(nullptr, &context, type, value.c_str());
  Require(extension != nullptr);
  X509_add_ext(certificate, extension, -1);
  X509_EXTENSION_free(extension);
}

// Without extensions and signature.
OpensslPtr<X509> NewCertificate(const std::string& name, EVP_PKEY* key,
                                const CertificateOptions& options) {
  OpensslPtr<X509> certificate(X509_new());
  X509_set_version(certificate.get(), X509_VERSION_3);
  uint32_t serial = 0;
  Require(RAND_bytes(reinterpret_cast<unsigned char*>(&serial),
                     sizeof(serial)) == 1);
  ASN1_INTEGER_set_uint64(X509_get_serialNumber(certificate.get()), serial);
  ASN1_TIME_set(X509_getm_notBefore(certificate.get()),
                Seconds(options.not_before));
  ASN1_TIME_set(X509_getm_notAfter(certificate.get()),
                Seconds(options.not_after));
  X509_NAME_add_entry_by_txt(
      X509_get_subject_name(certificate.get()), "CN", MBSTRING_UTF8,
      reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1, 0);
  Require(X509_set_pubkey(certificate.get(), key) == 1);
  return certificate;
}

void Sign(X509* certificate, X509* issuer, EVP_PKEY* key) {
  X509_set_issuer_name(certificate, X509_get_subject_name(issuer));
  AddExtension(certificate, issuer, NID_subject_key_identifier, "hash");
  // Ed25519 brings its own digest.
  Require(X509_sign(certificate, key, nullptr) > 0);
}

template <typename Write>
void WriteFile(const std::string& path, mode_t mode, const Write& write) {
  std::FILE* file = std::fopen(path.c_str(), "w");
  Require(file != nullptr);
  Require(::fchmod(::fileno(file), mode) == 0);
  Require(write(file) == 1);
  Require(std::fclose(file) == 0);
}

void WriteCertificate(const std::string& path, X509* certificate) {
  WriteFile(path, 0644, [certificate](std::FILE* file) {
    return PEM_write_X509(file, certificate);
  });
}

}  // namespace

struct TestAuthority::Keys {
  OpensslPtr<EVP_PKEY> key;
  OpensslPtr<X509> certificate;
};

TestAuthority::TestAuthority(const std::string& directory,
                             const std::string& name)
    : directory_(directory),
      ca_file_(directory + "/" + name + ".pem"),
      keys_(std::make_unique<Keys>()) {
  // Valid for longer than what it signs, so that only that expires.
  CertificateOptions options;
  options.not_before -= std::chrono::hours(24 * 365 * 10);
  options.not_after += std::chrono::hours(24 * 365 * 10);
  keys_->key = NewKey();
  keys_->certificate =
      NewCertificate("Capstan test CA " + name, keys_->key.get(), options);
  X509* certificate = keys_->certificate.get();
  AddExtension(certificate, certificate, NID_basic_constraints,
               "critical,CA:TRUE");
  AddExtension(certificate, certificate, NID_key_usage,
               "critical,keyCertSign,cRLSign");
  Sign(certificate, certificate, keys_->key.get());
  WriteCertificate(ca_file_, certificate);
}

TestAuthority::~TestAuthority() = default;

TlsOptions TestAuthority::Issue(const std::string& name,
                                const CertificateOptions& options) const {
  const OpensslPtr<EVP_PKEY> key = NewKey();
  const OpensslPtr<X509> certificate = NewCertificate(name, key.get(), options);
  X509* issuer = keys_->certificate.get();
  std::string names;
  for (const std::string& uri : options.uris) {
    names += (names.empty() ? "URI:" : ",URI:") + uri;
  }
  if (!names.empty()) {
    AddExtension(certificate.get(), issuer, NID_subject_alt_name, names);
  }
  if (!options.extended_key_usage.empty()) {
    AddExtension(certificate.get(), issuer, NID_ext_key_usage,
                 options.extended_key_usage);
  }
  AddExtension(certificate.get(), issuer, NID_basic_constraints,
               "critical,CA:FALSE");
  Sign(certificate.get(), issuer, keys_->key.get());
  TlsOptions files;
  files.ca_file = ca_file_;
  files.certificate_file = directory_ + "/" + name + ".pem";
  files.key_file = directory_ + "/" + name + ".key";
  WriteCertificate(files.certificate_file, certificate.get());
  WriteFile(files.key_file, 0600, [&key](std::FILE* file) {
    return PEM_write_PrivateKey(file, key.get(), nullptr, nullptr, 0, nullptr,
                                nullptr);
  });
  return files;
}

TlsOptions TestAuthority::Issue(const std::string& name,
                                const std::string& role) const {
  CertificateOptions options;
  options.uris = {"capstan:" + role};
  return Issue(name, options);
}

}  // namespace capstan::testing
