#include "launch/doctor/check_token.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "launch/security/job_token.h"
#include "testing/status_matchers.h"
#include "testing/temp_dir.h"

namespace capstan {
namespace {

using ::testing::HasSubstr;

class CheckTokenTest : public ::testing::Test {
 protected:
  CheckTokenTest() {
    const absl::StatusOr<JobToken> token = JobToken::Generate();
    EXPECT_OK(token);
    EXPECT_OK(token->WriteNew(file_));
  }

  Finding CheckOne(bool tls) {
    const Findings findings = CheckTokenFile(file_, tls);
    EXPECT_EQ(findings.size(), 1u);
    return findings.front();
  }

  const testing::TempDir directory_;
  const std::string file_ = directory_ / "token";
};

TEST_F(CheckTokenTest, NoneIsNotMentioned) {
  EXPECT_TRUE(CheckTokenFile("", false).empty());
}

TEST_F(CheckTokenTest, GoodOneIsWell) {
  EXPECT_EQ(CheckOne(true).level, FindingLevel::kOk);
}

TEST_F(CheckTokenTest, TokenWithoutTlsIsAProblem) {
  EXPECT_EQ(CheckOne(false).level, FindingLevel::kProblem);
  EXPECT_THAT(CheckOne(false).what, HasSubstr("--tls"));
}

TEST_F(CheckTokenTest, FileThatOthersCanReadIsAProblem) {
  ASSERT_EQ(::chmod(file_.c_str(), 0644), 0);
  EXPECT_EQ(CheckOne(true).level, FindingLevel::kProblem);
  EXPECT_THAT(CheckOne(true).what, HasSubstr("chmod 600"));
}

}  // namespace
}  // namespace capstan
