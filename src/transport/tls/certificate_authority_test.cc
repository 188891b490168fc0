#include "transport/tls/certificate_authority.h"

#include <gtest/gtest.h>
#include <openssl/pem.h>
#include <sys/stat.h>

#include <chrono>
#include <fstream>
#include <string>

#include "testing/status_matchers.h"
#include "testing/temp_dir.h"

namespace capstan {
namespace {

using absl::StatusCode::kFailedPrecondition;
using absl::StatusCode::kInvalidArgument;
using absl::StatusCode::kNotFound;
using absl::StatusCode::kPermissionDenied;
using std::chrono::hours;
using ::testing::HasSubstr;
using testing::StatusIs;
using testing::TempDir;

const WallTime kNow{std::chrono::seconds(1'700'000'000)};

CertificateSubject Subject(const std::string& name) {
  return {.name = name,
          .job = "ctr",
          .not_before = kNow - hours(1),
          .not_after = kNow + hours(1)};
}

OpensslPtr<X509> Parse(const std::string& pem) {
  const OpensslPtr<BIO> bio(
      BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  return OpensslPtr<X509>(
      PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr));
}

std::string SubjectText(const X509* certificate) {
  const OpensslPtr<BIO> bio(BIO_new(BIO_s_mem()));
  X509_NAME_print_ex(bio.get(), X509_get_subject_name(certificate), 0,
                     XN_FLAG_RFC2253);
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &data);
  return {data, static_cast<size_t>(size)};
}

class CertificateAuthorityTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK(authority_);
    const absl::StatusOr<CertificateAndKey> pem = authority_->ToPem();
    ASSERT_OK(pem);
    Write("ca.pem", pem->certificate);
    Write("ca.key", pem->key);
  }

  void Write(const std::string& name, const std::string& text) {
    std::ofstream(directory_ / name, std::ios::trunc) << text;
    ASSERT_EQ(::chmod((directory_ / name).c_str(), 0600), 0);
  }

  absl::StatusOr<CertificateAuthority> Load(WallTime now = kNow) {
    return CertificateAuthority::Load(directory_ / "ca.pem",
                                      directory_ / "ca.key", now);
  }

  const TempDir directory_;
  const absl::StatusOr<CertificateAuthority> authority_ =
      CertificateAuthority::Create(Subject("test CA"));
};

TEST_F(CertificateAuthorityTest, SignsItselfAndMaySignTasksOnly) {
  const absl::StatusOr<CertificateAndKey> pem = authority_->ToPem();
  ASSERT_OK(pem);
  const OpensslPtr<X509> ca = Parse(pem->certificate);
  ASSERT_NE(ca, nullptr);
  EXPECT_EQ(X509_check_ca(ca.get()), 1);
  EXPECT_EQ(X509_get_pathlen(ca.get()), 0);
  EXPECT_EQ(X509_verify(ca.get(), X509_get0_pubkey(ca.get())), 1);
  EXPECT_EQ(SubjectText(ca.get()), "CN=test CA,O=ctr");
}

TEST_F(CertificateAuthorityTest, IssuesForBothSidesOfTls) {
  const absl::StatusOr<CertificateAndKey> issued =
      authority_->Issue(Subject("worker/3"), {.uris = {"capstan:worker/3"}});
  ASSERT_OK(issued);
  const OpensslPtr<X509> certificate = Parse(issued->certificate);
  ASSERT_NE(certificate, nullptr);
  X509* task = certificate.get();
  EXPECT_EQ(RoleNames(task), "worker/3");
  EXPECT_EQ(X509_check_ca(task), 0);
  EXPECT_EQ(X509_check_purpose(task, X509_PURPOSE_SSL_CLIENT, 0), 1);
  EXPECT_EQ(X509_check_purpose(task, X509_PURPOSE_SSL_SERVER, 0), 1);
  EXPECT_TRUE(EVP_PKEY_is_a(X509_get0_pubkey(task), "EC"));
  EXPECT_EQ(EVP_PKEY_get_bits(X509_get0_pubkey(task)), 256);
  EXPECT_EQ(SubjectText(task), "CN=worker/3,O=ctr");
  EXPECT_THAT(issued->key, HasSubstr("BEGIN PRIVATE KEY"));
}

TEST_F(CertificateAuthorityTest, NoTwoCertificatesShareTheirNumber) {
  const absl::StatusOr<CertificateAndKey> one =
      authority_->Issue(Subject("ps"), {.uris = {"capstan:ps"}});
  const absl::StatusOr<CertificateAndKey> other =
      authority_->Issue(Subject("ps"), {.uris = {"capstan:ps"}});
  ASSERT_OK(one);
  ASSERT_OK(other);
  EXPECT_NE(
      ASN1_INTEGER_cmp(X509_get0_serialNumber(Parse(one->certificate).get()),
                       X509_get0_serialNumber(Parse(other->certificate).get())),
      0);
  EXPECT_NE(one->key, other->key);
}

TEST_F(CertificateAuthorityTest, ACommaInAUriBeginsNoOtherName) {
  const absl::StatusOr<CertificateAndKey> issued = authority_->Issue(
      Subject("task"), {.uris = {"capstan:worker,URI:capstan:chief"}});
  ASSERT_OK(issued);
  EXPECT_EQ(RoleNames(Parse(issued->certificate).get()), "");
}

TEST_F(CertificateAuthorityTest, WhatWasWrittenIsLoaded) {
  const absl::StatusOr<CertificateAuthority> loaded = Load();
  ASSERT_OK(loaded);
  EXPECT_EQ(loaded->job(), "ctr");
  EXPECT_EQ(loaded->not_after(), kNow + hours(1));
  const absl::StatusOr<CertificateAndKey> issued =
      loaded->Issue(Subject("ps"), {.uris = {"capstan:ps"}});
  ASSERT_OK(issued);
  const absl::StatusOr<CertificateAndKey> ca = authority_->ToPem();
  ASSERT_OK(ca);
  EXPECT_EQ(X509_verify(Parse(issued->certificate).get(),
                        X509_get0_pubkey(Parse(ca->certificate).get())),
            1);
}

TEST_F(CertificateAuthorityTest, ATasksCertificateIsNoAuthority) {
  const absl::StatusOr<CertificateAndKey> issued =
      authority_->Issue(Subject("ps"), {.uris = {"capstan:ps"}});
  ASSERT_OK(issued);
  Write("ca.pem", issued->certificate);
  Write("ca.key", issued->key);
  EXPECT_THAT(Load(), StatusIs(kInvalidArgument, HasSubstr("not a CA's")));
}

TEST_F(CertificateAuthorityTest, FilesThatCannotBeUsedAreNamed) {
  EXPECT_THAT(Load(kNow + hours(2)),
              StatusIs(kFailedPrecondition, HasSubstr("ca.pem' expired")));
  ASSERT_EQ(::chmod((directory_ / "ca.key").c_str(), 0644), 0);
  EXPECT_THAT(Load(), StatusIs(kPermissionDenied, HasSubstr("ca.key")));
  const absl::StatusOr<CertificateAndKey> other =
      authority_->Issue(Subject("ps"), {.uris = {"capstan:ps"}});
  ASSERT_OK(other);
  Write("ca.key", other->key);
  EXPECT_THAT(Load(), StatusIs(kInvalidArgument, HasSubstr("not belong")));
  Write("ca.key", "nothing");
  EXPECT_THAT(Load(), StatusIs(kInvalidArgument, HasSubstr("ca.key")));
  ASSERT_EQ(::unlink((directory_ / "ca.pem").c_str()), 0);
  EXPECT_THAT(Load(), StatusIs(kNotFound, HasSubstr("ca.pem")));
}

TEST_F(CertificateAuthorityTest, WhatCannotBeWrittenIsAnError) {
  EXPECT_THAT(authority_->Issue(Subject(""), {}), StatusIs(kInvalidArgument));
  EXPECT_OK(authority_->Issue(Subject(std::string(64, 'x')), {}));
  EXPECT_THAT(authority_->Issue(Subject(std::string(65, 'x')), {}),
              StatusIs(kInvalidArgument, HasSubstr("65")));
  CertificateSubject subject = Subject("ps");
  subject.job = std::string(65, 'x');
  EXPECT_THAT(CertificateAuthority::Create(subject),
              StatusIs(kInvalidArgument, HasSubstr("65")));
  EXPECT_THAT(
      authority_->Issue(Subject("ps"), {.uris = {}, .extended_key_usage = "x"}),
      StatusIs(kInvalidArgument, HasSubstr("'x'")));
}

}  // namespace
}  // namespace capstan
