#include "launch/blas/blas_core.h"

#include <gtest/gtest.h>

#include "launch/system/cpu_features_test.h"

namespace capstan {
namespace {

using testing::kAvx2;
using testing::kAvx512;
using testing::kOld;

TEST(BlasCoreTest, FitsTheCpu) {
  EXPECT_EQ(OpenBlasCoreFor(kOld), "");
  EXPECT_EQ(OpenBlasCoreFor(kAvx2), "HASWELL");
  EXPECT_EQ(OpenBlasCoreFor(kAvx512), "SKYLAKEX");
}

TEST(BlasCoreTest, OldOnes) {
  for (const char* core : {"Prescott", "prescott", "Core2", "Sandybridge"}) {
    EXPECT_TRUE(IsOldCore(core)) << core;
  }
  for (const char* core : {"Haswell", "Zen", "SkylakeX", "Cooperlake",
                           "Sapphirerapids", "neoversen1", ""}) {
    EXPECT_FALSE(IsOldCore(core)) << core;
  }
}

TEST(BlasCoreTest, RestartsOnceForBetterOnes) {
  EXPECT_EQ(CoreToRestartWith("Prescott", kAvx512, {}), "SKYLAKEX");
  EXPECT_EQ(CoreToRestartWith("Prescott", kAvx2, {}), "HASWELL");
  EXPECT_EQ(CoreToRestartWith("Prescott", kOld, {}), std::nullopt);
  EXPECT_EQ(CoreToRestartWith("Haswell", kAvx512, {}), std::nullopt);
  const auto with = [](const char* name, const char* value) {
    return CoreToRestartWith("Prescott", kAvx512,
                             Environment::Of({{name, value}}));
  };
  EXPECT_EQ(with("OPENBLAS_CORETYPE", "Prescott"), std::nullopt);
  EXPECT_EQ(with("OPENBLAS_CORETYPE", ""), std::nullopt);
  EXPECT_EQ(with("CAPSTAN_BLAS_RESTARTED", "1"), std::nullopt);
  EXPECT_EQ(with("OTHER", "1"), "SKYLAKEX");
}

TEST(CpuFeaturesTest, AreDescribed) {
  EXPECT_EQ(Describe(kAvx512), "AVX-512");
  EXPECT_EQ(Describe(kAvx2), "AVX2");
  EXPECT_EQ(Describe(kOld), "neither AVX2 nor AVX-512");
  EXPECT_EQ(ReadCpuFeatures(), ReadCpuFeatures());
}

}  // namespace
}  // namespace capstan
