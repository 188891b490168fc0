#include "launch/security/job_token.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "testing/status_matchers.h"
#include "testing/temp_dir.h"

namespace capstan {
namespace {

using absl::StatusCode::kAlreadyExists;
using absl::StatusCode::kInvalidArgument;
using absl::StatusCode::kNotFound;
using absl::StatusCode::kPermissionDenied;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::StatusIs;
using testing::TempDir;

const std::string kText =
    "00112233445566778899aabbccddeeff00112233445566778899AABBCCDDEEFF";

class JobTokenTest : public ::testing::Test {
 protected:
  void Write(const std::string& text, mode_t mode = 0600) {
    std::ofstream(path_, std::ios::trunc) << text;
    ASSERT_EQ(::chmod(path_.c_str(), mode), 0);
  }

  const TempDir directory_;
  const std::string path_ = directory_ / "job.token";
};

TEST_F(JobTokenTest, IsReadFromHexadecimalDigits) {
  for (const char* end : {"", "\n"}) {
    Write(kText + end);
    const absl::StatusOr<JobToken> token = JobToken::Read(path_);
    ASSERT_OK(token);
    EXPECT_EQ(token->bytes().substr(0, 4), std::string("\x00\x11\x22\x33", 4));
    EXPECT_EQ(token->bytes().substr(30), "\xee\xff");
  }
}

TEST_F(JobTokenTest, WhatIsWrittenIsRead) {
  const absl::StatusOr<JobToken> token = JobToken::Generate();
  ASSERT_OK(token);
  ASSERT_OK(token->WriteNew(path_));
  struct stat info;
  ASSERT_EQ(::stat(path_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0600u);
  const absl::StatusOr<JobToken> read = JobToken::Read(path_);
  ASSERT_OK(read);
  EXPECT_TRUE(read->Matches(token->bytes()));
}

TEST_F(JobTokenTest, NothingIsOverwritten) {
  Write(kText);
  const absl::StatusOr<JobToken> token = JobToken::Generate();
  ASSERT_OK(token);
  EXPECT_THAT(token->WriteNew(path_), StatusIs(kAlreadyExists));
  const absl::StatusOr<JobToken> read = JobToken::Read(path_);
  ASSERT_OK(read);
  EXPECT_FALSE(read->Matches(token->bytes()));
}

TEST_F(JobTokenTest, NoTwoAreTheSame) {
  const absl::StatusOr<JobToken> one = JobToken::Generate();
  const absl::StatusOr<JobToken> other = JobToken::Generate();
  ASSERT_OK(one);
  ASSERT_OK(other);
  EXPECT_FALSE(one->Matches(other->bytes()));
}

TEST_F(JobTokenTest, OnlyTheWholeTokenMatches) {
  const absl::StatusOr<JobToken> token = JobToken::Generate();
  ASSERT_OK(token);
  const std::string bytes(token->bytes());
  EXPECT_TRUE(token->Matches(bytes));
  EXPECT_FALSE(token->Matches(""));
  EXPECT_FALSE(token->Matches(bytes.substr(1)));
  EXPECT_FALSE(token->Matches(bytes.substr(0, JobToken::kBytes - 1)));
  EXPECT_FALSE(token->Matches(bytes + "x"));
  for (size_t i = 0; i < bytes.size(); ++i) {
    std::string wrong = bytes;
    wrong[i] = static_cast<char>(wrong[i] ^ 1);
    EXPECT_FALSE(token->Matches(wrong)) << "byte " << i;
  }
}

TEST_F(JobTokenTest, WhatIsNoTokenIsRefusedAndNotQuoted) {
  for (const std::string& text :
       {std::string(), std::string("\n"), kText.substr(1), kText + "0",
        kText + "\n\n", kText + " ", kText.substr(1) + "g",
        " " + kText.substr(1), std::string(64, '\0')}) {
    Write(text);
    EXPECT_THAT(JobToken::Read(path_),
                StatusIs(kInvalidArgument,
                         AllOf(HasSubstr(path_), HasSubstr("openssl rand"),
                               Not(HasSubstr("ccdd")))));
  }
}

TEST_F(JobTokenTest, AMissingFileIsNamed) {
  EXPECT_THAT(JobToken::Read(path_), StatusIs(kNotFound, HasSubstr(path_)));
  EXPECT_THAT(JobToken::Read(directory_.path()), StatusIs(kInvalidArgument));
  EXPECT_THAT(JobToken::Read(""), StatusIs(kInvalidArgument));
}

TEST_F(JobTokenTest, AFileThatOthersCanReadIsRefusedWithTheRemedy) {
  for (const mode_t mode : {0640, 0604, 0644, 0660, 0620, 0601}) {
    Write(kText, mode);
    EXPECT_THAT(JobToken::Read(path_),
                StatusIs(kPermissionDenied, HasSubstr("chmod 600 " + path_)));
  }
  Write(kText, 0400);
  EXPECT_OK(JobToken::Read(path_));
}

TEST_F(JobTokenTest, ALinkIsAsGoodAsTheFileAtItsEnd) {
  Write(kText);
  const std::string link = directory_ / "link";
  std::filesystem::create_symlink(path_, link);
  EXPECT_OK(JobToken::Read(link));
  ASSERT_EQ(::chmod(path_.c_str(), 0644), 0);
  EXPECT_THAT(JobToken::Read(link), StatusIs(kPermissionDenied));
}

TEST_F(JobTokenTest, AFileOfAnotherUserIsRefused) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give files away";
  Write(kText);
  ASSERT_EQ(::chown(path_.c_str(), 65534, 65534), 0);
  const std::string link = directory_ / "link";
  std::filesystem::create_symlink(path_, link);
  for (const std::string& path : {path_, link}) {
    EXPECT_THAT(JobToken::Read(path),
                StatusIs(kPermissionDenied,
                         AllOf(HasSubstr("uid 65534"), HasSubstr("chown"))));
  }
}

TEST_F(JobTokenTest, OptionIsReadForTlsOnly) {
  const absl::StatusOr<JobToken> token = JobToken::Generate();
  ASSERT_OK(token);
  const std::string file = directory_ / "option";
  ASSERT_OK(token->WriteNew(file));
  const auto none = ReadTokenOption("", false);
  ASSERT_OK(none);
  EXPECT_FALSE(none->has_value());
  const auto read = ReadTokenOption(file, true);
  ASSERT_OK(read);
  ASSERT_TRUE(read->has_value());
  EXPECT_TRUE((*read)->Matches(token->bytes()));
  EXPECT_THAT(
      ReadTokenOption(file, false),
      StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("--tls")));
}

}  // namespace
}  // namespace capstan
