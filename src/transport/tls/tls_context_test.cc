#include "transport/tls/tls_context.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "base/async/real_clock.h"
#include "testing/status_matchers.h"
#include "testing/temp_dir.h"
#include "testing/test_certificates.h"
#include "transport/tls/tls_credentials.h"

namespace capstan {
namespace {

using absl::StatusCode::kFailedPrecondition;
using absl::StatusCode::kInvalidArgument;
using absl::StatusCode::kNotFound;
using absl::StatusCode::kPermissionDenied;
using ::testing::AllOf;
using testing::CertificateOptions;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::IsOkAndHolds;
using testing::StatusIs;
using testing::TempDir;
using testing::TestAuthority;

class TlsContextTest : public ::testing::Test {
 protected:
  absl::Status Load(const TlsOptions& options) {
    return TlsContext::Load(clock_, options).status();
  }

  void Overwrite(const std::string& path, const std::string& text) {
    std::ofstream(path, std::ios::trunc) << text;
  }

  RealClock clock_;
  const TempDir directory_;
  const TestAuthority authority_{directory_.path()};
};

TEST_F(TlsContextTest, LoadsWhatIsRight) {
  absl::StatusOr<std::unique_ptr<TlsContext>> context =
      TlsContext::Load(clock_, authority_.Issue("task", "ps/1"));
  ASSERT_OK(context);
  EXPECT_EQ((*context)->credentials()->names, "ps/1");
}

TEST_F(TlsContextTest, ACertificateMayHaveSeveralNames) {
  CertificateOptions options;
  options.uris = {"https://example.org", "capstan:ps", "capstan:worker/3"};
  absl::StatusOr<std::unique_ptr<TlsContext>> context =
      TlsContext::Load(clock_, authority_.Issue("task", options));
  ASSERT_OK(context);
  EXPECT_EQ((*context)->credentials()->names, "ps,worker/3");
}

TEST_F(TlsContextTest, MissingFilesAreNamed) {
  const TlsOptions good = authority_.Issue("task", "ps");
  for (std::string TlsOptions::*file :
       {&TlsOptions::ca_file, &TlsOptions::certificate_file,
        &TlsOptions::key_file}) {
    TlsOptions options = good;
    options.*file = directory_ / "absent.pem";
    EXPECT_THAT(Load(options), StatusIs(kNotFound, HasSubstr("absent.pem")));
    options.*file = "";
    EXPECT_THAT(Load(options), StatusIs(kInvalidArgument, HasSubstr("no ")));
    options.*file = directory_.path();
    EXPECT_THAT(Load(options),
                StatusIs(kInvalidArgument, HasSubstr(directory_.path())));
  }
}

TEST_F(TlsContextTest, FilesOfSomethingElseAreNamed) {
  for (std::string TlsOptions::*file :
       {&TlsOptions::ca_file, &TlsOptions::certificate_file,
        &TlsOptions::key_file}) {
    for (const std::string& text :
         {std::string(), std::string("hello\n"),
          std::string("-----BEGIN CERTIFICATE-----\nnope\n"
                      "-----END CERTIFICATE-----\n"),
          std::string(2 << 20, 'x')}) {
      TlsOptions options = authority_.Issue("task", "ps");
      options.ca_file = directory_ / "copy.pem";
      std::filesystem::copy_file(
          authority_.ca_file(), options.ca_file,
          std::filesystem::copy_options::overwrite_existing);
      Overwrite(options.*file, text);
      EXPECT_THAT(Load(options),
                  StatusIs(kInvalidArgument, HasSubstr(options.*file)));
    }
  }
}

TEST_F(TlsContextTest, AKeyThatOthersCanReadIsRefusedWithTheRemedy) {
  const TlsOptions options = authority_.Issue("task", "ps");
  for (const mode_t mode : {0640, 0604, 0644, 0660, 0601}) {
    ASSERT_EQ(::chmod(options.key_file.c_str(), mode), 0);
    EXPECT_THAT(Load(options),
                StatusIs(kPermissionDenied,
                         AllOf(HasSubstr(options.key_file),
                               HasSubstr("chmod 600 " + options.key_file))));
  }
  for (const mode_t mode : {0600, 0400, 0700}) {
    ASSERT_EQ(::chmod(options.key_file.c_str(), mode), 0);
    EXPECT_OK(Load(options));
  }
}

TEST_F(TlsContextTest, AnExpiredCertificateIsNamedWithItsDate) {
  CertificateOptions expired;
  expired.not_before = WallTime(std::chrono::seconds(1'000'000'000));
  expired.not_after = WallTime(std::chrono::seconds(1'100'000'000));
  const TlsOptions options = authority_.Issue("old", expired);
  EXPECT_THAT(Load(options),
              StatusIs(kFailedPrecondition,
                       AllOf(HasSubstr("old.pem"),
                             HasSubstr("expired on Nov  9 11:33:20 2004"))));
}

TEST_F(TlsContextTest, ACertificateOfTheFutureIsNamed) {
  CertificateOptions future;
  future.not_before = clock_.WallNow() + std::chrono::hours(1);
  future.not_after = clock_.WallNow() + std::chrono::hours(2);
  EXPECT_THAT(Load(authority_.Issue("soon", future)),
              StatusIs(kFailedPrecondition,
                       AllOf(HasSubstr("soon.pem"), HasSubstr("before"))));
}

TEST_F(TlsContextTest, AKeyOfAnotherCertificateIsNamed) {
  TlsOptions options = authority_.Issue("a", "ps");
  options.key_file = authority_.Issue("b", "ps").key_file;
  EXPECT_THAT(Load(options),
              StatusIs(kInvalidArgument,
                       AllOf(HasSubstr("b.key"), HasSubstr("a.pem"))));
}

TEST_F(TlsContextTest, ACertificateOfAnotherCaIsNamed) {
  const TestAuthority other(directory_.path(), "other");
  TlsOptions options = authority_.Issue("task", "ps");
  options.ca_file = other.ca_file();
  EXPECT_THAT(Load(options),
              StatusIs(kInvalidArgument,
                       AllOf(HasSubstr("task.pem"), HasSubstr("other.pem"))));
}

TEST_F(TlsContextTest, ACertificateWithoutRoleIsRefused) {
  CertificateOptions nameless;
  nameless.uris = {"capstan:NOT-A-ROLE"};
  EXPECT_THAT(Load(authority_.Issue("task", nameless)),
              StatusIs(kInvalidArgument, HasSubstr("URI:capstan:")));
  nameless.uris = {};
  EXPECT_THAT(Load(authority_.Issue("task", nameless)),
              StatusIs(kInvalidArgument, HasSubstr("URI:capstan:")));
}

TEST_F(TlsContextTest, ACertificateForOneSideOnlyIsRefused) {
  CertificateOptions options;
  options.extended_key_usage = "serverAuth";
  EXPECT_THAT(Load(authority_.Issue("task", options)),
              StatusIs(kInvalidArgument, HasSubstr("clientAuth")));
  options.extended_key_usage = "serverAuth,clientAuth";
  EXPECT_OK(Load(authority_.Issue("task", options)));
}

TEST_F(TlsContextTest, ReloadReadsTheFilesAgain) {
  absl::StatusOr<std::unique_ptr<TlsContext>> context =
      TlsContext::Load(clock_, authority_.Issue("task", "ps/1"));
  ASSERT_OK(context);
  const std::shared_ptr<const TlsCredentials> before =
      (*context)->credentials();
  authority_.Issue("task", "ps/2");
  EXPECT_EQ((*context)->credentials(), before);
  EXPECT_OK((*context)->Reload());
  EXPECT_EQ((*context)->credentials()->names, "ps/2");
  EXPECT_EQ(before->names, "ps/1");
}

TEST_F(TlsContextTest, AFailedReloadChangesNothing) {
  const TlsOptions options = authority_.Issue("task", "ps/1");
  absl::StatusOr<std::unique_ptr<TlsContext>> context =
      TlsContext::Load(clock_, options);
  ASSERT_OK(context);
  const std::shared_ptr<const TlsCredentials> before =
      (*context)->credentials();
  Overwrite(options.certificate_file, "half a file");
  EXPECT_THAT((*context)->Reload(), StatusIs(kInvalidArgument));
  EXPECT_EQ((*context)->credentials(), before);
}

TEST_F(TlsContextTest, ReloadsOnlyWhatHasChanged) {
  const TlsOptions options = authority_.Issue("task", "ps/1");
  absl::StatusOr<std::unique_ptr<TlsContext>> context =
      TlsContext::Load(clock_, options);
  ASSERT_OK(context);
  const std::shared_ptr<const TlsCredentials> before =
      (*context)->credentials();
  EXPECT_THAT((*context)->ReloadIfChanged(), IsOkAndHolds(false));
  EXPECT_EQ((*context)->credentials(), before);
  authority_.Issue("task", "ps/2");
  EXPECT_THAT((*context)->ReloadIfChanged(), IsOkAndHolds(true));
  EXPECT_EQ((*context)->credentials()->names, "ps/2");
  EXPECT_THAT((*context)->ReloadIfChanged(), IsOkAndHolds(false));
}

TEST_F(TlsContextTest, AChangeThatCannotBeReadIsTriedAgain) {
  const TlsOptions options = authority_.Issue("task", "ps/1");
  absl::StatusOr<std::unique_ptr<TlsContext>> context =
      TlsContext::Load(clock_, options);
  ASSERT_OK(context);
  std::filesystem::rename(options.key_file, directory_ / "away");
  for (int i = 0; i < 2; ++i) {
    EXPECT_THAT((*context)->ReloadIfChanged(),
                StatusIs(kNotFound, HasSubstr(options.key_file)));
  }
  std::filesystem::rename(directory_ / "away", options.key_file);
  EXPECT_OK((*context)->ReloadIfChanged());
  EXPECT_THAT((*context)->ReloadIfChanged(), IsOkAndHolds(false));
}

TEST_F(TlsContextTest, SaysWhenTheFirstCertificateExpires) {
  CertificateOptions options;
  options.not_after = std::chrono::floor<std::chrono::seconds>(
      clock_.WallNow() + std::chrono::hours(5));
  absl::StatusOr<std::unique_ptr<TlsContext>> context =
      TlsContext::Load(clock_, authority_.Issue("task", options));
  ASSERT_OK(context);
  EXPECT_EQ((*context)->not_after(), options.not_after);
}

}  // namespace
}  // namespace capstan
