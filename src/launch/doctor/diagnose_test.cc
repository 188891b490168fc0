#include "launch/doctor/diagnose.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "launch/local/held_ports.h"
#include "testing/temp_dir.h"

namespace capstan {
namespace {

using ::testing::HasSubstr;

class DiagnoseTest : public ::testing::Test {
 protected:
  // All findings, one per line.
  std::string Lines(const Environment& environment) {
    DiagnoseOptions options;
    options.cluster_file = cluster_file_;
    options.environment = environment;
    options.folder = folder_.path();
    options.timeout = std::chrono::milliseconds(500);
    options.probe_blas = []() -> absl::StatusOr<BlasInfo> {
      return BlasInfo{.library = BlasLibrary::kReference};
    };
    std::string text;
    for (const Finding& finding : Diagnose(options)) {
      text += ToLine(finding) + "\n";
    }
    return text;
  }

  const testing::TempDir folder_;
  std::string cluster_file_;
};

TEST_F(DiagnoseTest, WithoutAClusterTheMachineIsLookedAt) {
  const std::string text = Lines(Environment());
  EXPECT_THAT(text, HasSubstr("ok       version: capstan"));
  EXPECT_THAT(text, HasSubstr("CPU: "));
  EXPECT_THAT(text, HasSubstr("warning  BLAS: reference"));
  EXPECT_THAT(text, HasSubstr("open files"));
  EXPECT_THAT(text, HasSubstr("loopback: "));
  EXPECT_THAT(text, HasSubstr("host: "));
  EXPECT_THAT(text, HasSubstr("ok       cluster: none"));
}

TEST_F(DiagnoseTest, WrongDescriptionIsAProblem) {
  EXPECT_THAT(Lines(Environment::Of({{"TF_CONFIG", "{"}})),
              HasSubstr("PROBLEM  cluster: TF_CONFIG"));
}

TEST_F(DiagnoseTest, JobThatDoesNotRunIsAWarning) {
  const std::vector<int> ports = HeldPorts::Take(3).value().ports();
  cluster_file_ = folder_ / "cluster.yaml";
  std::ofstream(cluster_file_)
      << "cluster:\n  chief: ['127.0.0.1:" << ports[0]
      << "']\n  worker: ['127.0.0.1:" << ports[1]
      << "']\n  ps: ['127.0.0.1:" << ports[2] << "']\n";
  const std::string text = Lines(Environment());
  EXPECT_THAT(text, HasSubstr("1 chief, 1 worker, 1 ps"));
  EXPECT_THAT(text, HasSubstr("the port of this machine is free"));
  EXPECT_THAT(text, HasSubstr("warning  ps/0: cannot connect"));
  EXPECT_THAT(text, ::testing::Not(HasSubstr("PROBLEM")));
}

TEST_F(DiagnoseTest, CertificatesAreFoundByTheirVariable) {
  EXPECT_THAT(Lines(Environment::Of({{"CAPSTAN_TLS", folder_ / "absent"}})),
              HasSubstr("PROBLEM  TLS: there is no directory"));
}

}  // namespace
}  // namespace capstan
