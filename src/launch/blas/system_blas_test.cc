#include "launch/blas/system_blas.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/status_matchers.h"

namespace capstan {
namespace {

using ::capstan::testing::StatusIs;
using ::testing::HasSubstr;

TEST(SystemBlasTest, SurvivesTheTrip) {
  const BlasInfo blas = {.library = BlasLibrary::kReference,
                         .path = "/lib/\"a\"\xff",
                         .core = "Zen",
                         .threads = 3,
                         .gflops = 1.5};
  const auto back = ParseBlasInfo(ToJson(blas));
  ASSERT_OK(back);
  EXPECT_EQ(back->library, blas.library);
  EXPECT_THAT(back->path, HasSubstr("/lib/\"a\""));
  EXPECT_EQ(back->core, blas.core);
  EXPECT_EQ(back->threads, blas.threads);
  EXPECT_EQ(back->gflops, blas.gflops);
}

TEST(SystemBlasTest, RefusesOtherText) {
  for (const char* text : {"", "error", "{}", "[]",
                           R"({"library":9,"path":"","core":"",)"
                           R"("threads":0,"gflops":0})"}) {
    EXPECT_THAT(ParseBlasInfo(text),
                StatusIs(absl::StatusCode::kInvalidArgument))
        << text;
  }
}

TEST(SystemBlasTest, AsksAProcessWithTheKernelsOfAWorker) {
  const std::string line = ToJson({.core = "CORE"});
  const std::string script = "echo '" + line.substr(0, line.find("CORE")) +
                             "'\"$OPENBLAS_CORETYPE\"'" +
                             line.substr(line.find("CORE") + 4) + "'";
  const auto probe = [&](const std::vector<std::string>& environment) {
    return ProbeSystemBlas("/bin/sh", {"sh", "-c", script}, environment,
                           std::chrono::seconds(60));
  };
  const auto chosen = probe({});
  ASSERT_OK(chosen);
  const CpuFeatures cpu = ReadCpuFeatures();
  EXPECT_EQ(chosen->core, cpu.avx512         ? "SKYLAKEX"
                          : cpu.avx2_and_fma ? "HASWELL"
                                             : "");
  const auto given = probe({"OPENBLAS_CORETYPE=Zen"});
  ASSERT_OK(given);
  EXPECT_EQ(given->core, "Zen");
}

}  // namespace
}  // namespace capstan
