#include "launch/blas/blas_info.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "launch/system/cpu_features_test.h"

namespace capstan {
namespace {

using ::testing::HasSubstr;
using testing::kAvx2;
using testing::kAvx512;
using testing::kOld;

BlasInfo OpenBlas(const char* core, double gflops) {
  return {.library = BlasLibrary::kOpenBlas,
          .path = "/usr/lib/libopenblas.so.0",
          .core = core,
          .threads = 1,
          .gflops = gflops};
}

TEST(BlasInfoTest, LibraryOfPath) {
  const std::string debian = "/usr/lib/x86_64-linux-gnu/";
  EXPECT_EQ(LibraryOfPath(debian + "openblas-pthread/libblas.so.3"),
            BlasLibrary::kOpenBlas);
  EXPECT_EQ(LibraryOfPath("/opt/libopenblas.so.0"), BlasLibrary::kOpenBlas);
  EXPECT_EQ(LibraryOfPath(debian + "blis-serial/libblas.so.3"),
            BlasLibrary::kBlis);
  EXPECT_EQ(LibraryOfPath("/opt/libmkl_rt.so.2"), BlasLibrary::kMkl);
  EXPECT_EQ(LibraryOfPath(debian + "blas/libblas.so.3.11.0"),
            BlasLibrary::kReference);
  EXPECT_EQ(LibraryOfPath(debian + "atlas/libblas.so.3"), BlasLibrary::kOther);
  EXPECT_EQ(LibraryOfPath("/opt/libtorch_cpu.so"), BlasLibrary::kOther);
  EXPECT_EQ(LibraryOfPath(""), BlasLibrary::kOther);
}

TEST(BlasInfoTest, FastOneIsFine) {
  const BlasVerdict verdict = Judge(OpenBlas("SkylakeX", 110.4), kAvx512);
  EXPECT_FALSE(verdict.slow);
  EXPECT_EQ(verdict.what,
            "BLAS: OpenBLAS with the kernels SkylakeX, 1 thread, "
            "110 GFLOP/s");
  EXPECT_EQ(verdict.remedy, "");
  EXPECT_FALSE(Judge({.library = BlasLibrary::kMkl}, kAvx512).slow);
}

TEST(BlasInfoTest, ReferenceIsSlow) {
  const BlasVerdict verdict = Judge(
      {.library = BlasLibrary::kReference, .threads = 1, .gflops = 500}, kOld);
  EXPECT_TRUE(verdict.slow);
  EXPECT_EQ(verdict.what, "BLAS: reference BLAS, 1 thread, 500 GFLOP/s");
  EXPECT_THAT(verdict.remedy, HasSubstr("apt install libopenblas0-pthread"));
}

TEST(BlasInfoTest, OldKernelsAreSlowOnANewCpu) {
  BlasVerdict verdict = Judge(OpenBlas("Prescott", 40), kAvx512);
  EXPECT_TRUE(verdict.slow);
  EXPECT_THAT(verdict.remedy, HasSubstr("set OPENBLAS_CORETYPE=SKYLAKEX"));
  verdict = Judge(OpenBlas("Prescott", 40), kAvx2);
  EXPECT_THAT(verdict.remedy, HasSubstr("set OPENBLAS_CORETYPE=HASWELL"));
  EXPECT_FALSE(Judge(OpenBlas("Prescott", 20), kOld).slow);
}

TEST(BlasInfoTest, FarBelowTheCpuIsSlow) {
  EXPECT_TRUE(Judge(OpenBlas("SkylakeX", 15.9), kAvx512).slow);
  EXPECT_FALSE(Judge(OpenBlas("SkylakeX", 16.1), kAvx512).slow);
  EXPECT_TRUE(Judge(OpenBlas("Haswell", 7.9), kAvx2).slow);
  EXPECT_FALSE(Judge(OpenBlas("Haswell", 8.1), kAvx2).slow);
  EXPECT_TRUE(Judge(OpenBlas("Nehalem", 1.9), kOld).slow);
  // Not measured.
  EXPECT_FALSE(Judge(OpenBlas("SkylakeX", 0), kAvx512).slow);
  EXPECT_THAT(
      Judge({.library = BlasLibrary::kOther, .gflops = 1}, kAvx512).remedy,
      HasSubstr("apt install"));
}

// This program has no BLAS: nothing of Capstan links to one.
TEST(BlasInfoTest, NoneIsFoundHere) {
  EXPECT_FALSE(FindBlas().has_value());
  EXPECT_FALSE(ProbeBlas().has_value());
  SetBlasThreads(1);
}

}  // namespace
}  // namespace capstan
