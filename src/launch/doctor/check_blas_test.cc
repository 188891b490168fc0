#include "launch/doctor/check_blas.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "launch/system/cpu_features_test.h"

namespace capstan {
namespace {

using ::testing::HasSubstr;
using testing::kAvx512;

TEST(CheckBlasTest, FastOne) {
  const Findings findings = CheckBlas(
      BlasInfo{.library = BlasLibrary::kBlis, .path = "/lib/a", .gflops = 100},
      kAvx512);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0],
            (Finding{FindingLevel::kOk, "BLAS: BLIS, 100 GFLOP/s (/lib/a)"}));
}

TEST(CheckBlasTest, SlowOneHasARemedy) {
  const Findings findings =
      CheckBlas(BlasInfo{.library = BlasLibrary::kReference}, kAvx512);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].level, FindingLevel::kWarning);
  EXPECT_THAT(findings[0].remedy, HasSubstr("libopenblas0-pthread"));
}

TEST(CheckBlasTest, NoneIsAWarning) {
  const Findings findings = CheckBlas(absl::NotFoundError("no file"), kAvx512);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].level, FindingLevel::kWarning);
  EXPECT_THAT(findings[0].what, HasSubstr("no file"));
  EXPECT_THAT(findings[0].remedy, HasSubstr("apt install"));
}

}  // namespace
}  // namespace capstan
