#include "base/file/open_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

namespace capstan {
namespace {

using ::testing::HasSubstr;

// Exits with the soft limit after RaiseOpenFileLimit in a process with these
// limits.
void ExitWithRaised(rlim_t soft, rlim_t hard) {
  const rlimit before = {.rlim_cur = soft, .rlim_max = hard};
  if (setrlimit(RLIMIT_NOFILE, &before) != 0) std::_Exit(255);
  RaiseOpenFileLimit();
  rlimit after = {};
  if (getrlimit(RLIMIT_NOFILE, &after) != 0) std::_Exit(255);
  std::_Exit(static_cast<int>(after.rlim_cur));
}

TEST(OpenFilesDeathTest, TheLimitIsRaisedAsFarAsItMay) {
  EXPECT_EXIT(ExitWithRaised(64, 200), ::testing::ExitedWithCode(200), "");
  EXPECT_EXIT(ExitWithRaised(200, 200), ::testing::ExitedWithCode(200), "");
}

TEST(OpenFilesTest, TheLimitIsRaisedToWhatIsEnough) {
  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit low = {.rlim_cur = 64, .rlim_max = before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &low), 0);
  RaiseOpenFileLimit();
  rlimit after = {};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &after), 0);
  setrlimit(RLIMIT_NOFILE, &before);
  EXPECT_EQ(after.rlim_cur, std::min<rlim_t>(65'536, before.rlim_max));
  EXPECT_EQ(after.rlim_max, before.rlim_max);
}

TEST(OpenFilesTest, TheRemedyIsForTooManyOpenFilesOnly) {
  EXPECT_THAT(OpenFilesRemedy(EMFILE), HasSubstr("LimitNOFILE"));
  EXPECT_THAT(OpenFilesRemedy(ENFILE), HasSubstr("fs.file-max"));
  EXPECT_EQ(OpenFilesRemedy(ENOENT), "");
  EXPECT_EQ(OpenFilesRemedy(0), "");
}

}  // namespace
}  // namespace capstan
