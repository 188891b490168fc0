#include "launch/doctor/check_addresses.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

namespace capstan {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr TaskId kChief{Role::kChief, 0};
constexpr TaskId kPs{Role::kPs, 0};

// Three hosts, of which "here" is this machine.
class CheckAddressesTest : public ::testing::Test {
 protected:
  CheckAddressesTest() {
    seams_.look_up = [this](const std::string& host)
        -> absl::StatusOr<std::vector<std::string>> {
      const auto at = hosts_.find(host);
      if (at == hosts_.end()) {
        return absl::UnavailableError("host '" + host + "' is unknown");
      }
      return std::vector<std::string>{at->second};
    };
    seams_.is_local = [](const std::string& number) {
      return number == "10.0.0.1" || IsLoopback(number);
    };
    seams_.try_port = [this](const std::string&, int port) {
      return ports_.contains(port) ? ports_[port] : absl::OkStatus();
    };
  }

  Findings Check(const ClusterSpec& spec) {
    return CheckAddresses(spec, policy_, answering_, seams_);
  }

  static ClusterSpec Spec(const std::string& chief, const std::string& ps) {
    return ClusterSpec(std::map<Role, std::vector<std::string>>{
        {Role::kChief, {chief}}, {Role::kPs, {ps}}});
  }

  std::map<std::string, std::string> hosts_ = {{"here", "10.0.0.1"},
                                               {"there", "10.0.0.2"},
                                               {"debian", "127.0.1.1"},
                                               {"127.0.0.1", "127.0.0.1"}};
  std::map<int, absl::Status> ports_;
  std::set<TaskId> answering_;
  NetworkPolicy policy_ = {.tls = true};
  AddressSeams seams_;
};

TEST_F(CheckAddressesTest, FreePortOfThisMachineIsWell) {
  const Findings findings = Check(Spec("here:7077", "there:7077"));
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].level, FindingLevel::kOk);
  EXPECT_THAT(findings[0].what, HasSubstr("chief/0 at here:7077"));
}

TEST_F(CheckAddressesTest, TakenPortIsAProblemUnlessItsTaskAnswers) {
  ports_[7077] = absl::AlreadyExistsError("in use");
  const Findings findings = Check(Spec("here:7077", "there:7077"));
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].level, FindingLevel::kProblem);
  EXPECT_THAT(findings[0].remedy, HasSubstr("sport = :7077"));
  answering_ = {kChief};
  EXPECT_THAT(Check(Spec("here:7077", "there:7077")), IsEmpty());
}

TEST_F(CheckAddressesTest, PortThatThisUserMayNotHave) {
  ports_[80] = absl::PermissionDeniedError("Permission denied");
  const Findings findings = Check(Spec("here:80", "there:7077"));
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].level, FindingLevel::kProblem);
  EXPECT_THAT(findings[0].remedy, HasSubstr("1023"));
}

TEST_F(CheckAddressesTest, UnknownHostIsAProblem) {
  const Findings findings = Check(Spec("there:7077", "nowhere:7077"));
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].level, FindingLevel::kProblem);
  EXPECT_THAT(findings[0].what, HasSubstr("ps/0: host 'nowhere'"));
}

TEST_F(CheckAddressesTest, LoopbackBesideOtherMachinesIsAProblem) {
  const Findings findings = Check(Spec("debian:7077", "there:7077"));
  ASSERT_EQ(findings.size(), 2u);
  EXPECT_EQ(findings[0].level, FindingLevel::kProblem);
  EXPECT_THAT(findings[0].what, HasSubstr("127.0.1.1"));
  EXPECT_EQ(findings[1].level, FindingLevel::kOk);
}

TEST_F(CheckAddressesTest, LoopbackAloneIsWell) {
  for (const Finding& finding :
       Check(Spec("127.0.0.1:7077", "127.0.0.1:7078"))) {
    EXPECT_EQ(finding.level, FindingLevel::kOk) << ToLine(finding);
  }
}

TEST_F(CheckAddressesTest, OpenAddressWithoutTlsIsAWarning) {
  policy_.tls = false;
  const Findings findings = Check(Spec("here:7077", "there:7077"));
  ASSERT_EQ(findings.size(), 2u);
  EXPECT_EQ(findings[0].level, FindingLevel::kWarning);
  EXPECT_THAT(findings[0].what, HasSubstr("--tls"));
}

TEST_F(CheckAddressesTest, UnixSocketsHaveNoPorts) {
  EXPECT_THAT(Check(Spec("unix:/run/chief", "unix:/run/ps")), IsEmpty());
}

TEST_F(CheckAddressesTest, TasksOfThisMachine) {
  EXPECT_THAT(LocalTasks(Spec("here:7077", "there:7077"), seams_),
              ElementsAre(kChief));
  EXPECT_THAT(LocalTasks(Spec("nowhere:7077", "unix:/run/ps"), seams_),
              ElementsAre(kPs));
}

}  // namespace
}  // namespace capstan
