#include "launch/doctor/check_tls.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "base/async/real_clock.h"
#include "launch/security/make_certificates.h"
#include "simulation/sim_clock.h"
#include "testing/status_matchers.h"
#include "testing/temp_dir.h"

namespace capstan {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::TempDir;

class CheckTlsTest : public ::testing::Test {
 protected:
  // Certificates as `capstan certs` makes them, in tls/.
  CheckTlsTest() { Make(directory_); }

  void Make(const std::string& directory) {
    MakeCertificatesOptions options;
    options.directory = directory;
    EXPECT_OK(MakeCertificates(options, clock_));
  }

  Findings Check(const std::vector<TaskId>& tasks = {}) {
    return CheckTls(directory_, tasks, clock_);
  }
  // Every finding that is not OK.
  Findings Complaints(const std::vector<TaskId>& tasks = {}) {
    Findings findings = Check(tasks);
    std::erase_if(findings, [](const Finding& finding) {
      return finding.level == FindingLevel::kOk;
    });
    return findings;
  }
  std::string PathOf(const std::string& name) const {
    return directory_ + "/" + name;
  }

  const TempDir temp_;
  const std::string directory_ = temp_ / "tls";
  RealClock clock_;
};

TEST_F(CheckTlsTest, WhatCertsMakesIsGood) {
  const Findings findings = Check({{Role::kWorker, 3}, {Role::kPs, 0}});
  ASSERT_EQ(findings.size(), 1u) << ToLine(findings.front());
  EXPECT_EQ(findings[0].level, FindingLevel::kOk);
  EXPECT_THAT(findings[0].what, HasSubstr("5 certificates"));
}

TEST_F(CheckTlsTest, DirectoryThatIsNotThere) {
  const Findings findings = CheckTls(temp_ / "absent", {}, clock_);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].level, FindingLevel::kProblem);
  EXPECT_THAT(findings[0].remedy, HasSubstr("capstan certs"));
}

TEST_F(CheckTlsTest, EmptyDirectory) {
  const TempDir empty;
  const Findings findings = CheckTls(empty.path(), {}, clock_);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].level, FindingLevel::kProblem);
  EXPECT_THAT(findings[0].remedy, HasSubstr("capstan certs"));
}

TEST_F(CheckTlsTest, OpenFilesAndDirectoryAreProblems) {
  ASSERT_EQ(::chmod(directory_.c_str(), 0777), 0);
  ASSERT_EQ(::chmod(PathOf("ca.key").c_str(), 0644), 0);
  ASSERT_EQ(::chmod(PathOf("ps.key").c_str(), 0640), 0);
  const Findings findings = Complaints();
  ASSERT_EQ(findings.size(), 3u);
  for (const Finding& finding : findings) {
    EXPECT_EQ(finding.level, FindingLevel::kProblem);
    EXPECT_THAT(ToLine(finding), HasSubstr("chmod"));
  }
}

TEST_F(CheckTlsTest, CertificateOfAnotherAuthorityIsAProblem) {
  const std::string other = temp_ / "other";
  Make(other);
  for (const char* name : {"/ps.pem", "/ps.key"}) {
    std::filesystem::copy_file(
        other + name, directory_ + name,
        std::filesystem::copy_options::overwrite_existing);
  }
  const Findings findings = Complaints();
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].level, FindingLevel::kProblem);
  EXPECT_THAT(findings[0].what,
              AllOf(HasSubstr("ps.pem"), HasSubstr("not accepted by CA")));
}

TEST_F(CheckTlsTest, KeyWithoutItsCertificateIsAProblem) {
  std::filesystem::remove(PathOf("worker.pem"));
  const Findings findings = Complaints({{Role::kWorker, 0}});
  ASSERT_EQ(findings.size(), 2u);
  EXPECT_THAT(findings[0].what, HasSubstr("worker.pem"));
  EXPECT_THAT(findings[1].what,
              AllOf(HasSubstr("for worker/0"), HasSubstr("capstan certs")));
}

TEST_F(CheckTlsTest, ExpirySoonIsAWarningAndThenAProblem) {
  const auto in_days = [this](int days) {
    SimClock later(clock_.WallNow() + std::chrono::days(days));
    return CheckTls(directory_, {}, later);
  };
  EXPECT_EQ(Count(in_days(330), FindingLevel::kWarning), 0);
  const Findings soon = in_days(340);
  EXPECT_EQ(Count(soon, FindingLevel::kWarning), 5);
  EXPECT_THAT(soon.front().remedy, HasSubstr("--add"));
  const Findings over = in_days(366);
  EXPECT_EQ(Count(over, FindingLevel::kProblem), 5);
  EXPECT_THAT(over.front().what, HasSubstr("expired"));
}

}  // namespace
}  // namespace capstan
