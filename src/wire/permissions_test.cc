#include "wire/permissions.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "testing/status_matchers.h"

namespace capstan {
namespace {

using absl::StatusCode::kPermissionDenied;
using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::StatusIs;

const std::set<std::string> kEveryRole = {"chief", "worker", "ps", "evaluator",
                                          "admin"};

const std::set<std::string> kTrainers = {"chief", "worker"};

// Repeated here by hand: who may call what must not change by accident.
const std::map<Method, std::set<std::string>> kMay = {
    {Method::kProbeEcho, kEveryRole},
    {Method::kProbeSink, kEveryRole},
    {Method::kProbeSource, kEveryRole},
    {Method::kMemberBeat, {"chief"}},
    {Method::kMemberEnd, {"chief"}},
    {Method::kTaskStatus, kEveryRole},
    {Method::kJobStatus, kEveryRole},
    {Method::kInstall, {"chief"}},
    {Method::kShardMap, kEveryRole},
    {Method::kPull, kEveryRole},
    {Method::kPush, kTrainers},
    {Method::kGather, kEveryRole},
    {Method::kScatter, kTrainers},
    {Method::kRead, kEveryRole},
    {Method::kCommit, {"chief"}},
    {Method::kTick, {"chief"}},
    {Method::kWatermark, {"chief"}},
    {Method::kStoreStatus, kEveryRole},
    {Method::kSnapshot, {"chief"}},
    {Method::kSnapshotRead, {"chief"}},
    {Method::kSnapshotWrite, {"chief"}},
    {Method::kSnapshotDrop, {"chief"}},
    {Method::kStageRows, {"chief"}},
    {Method::kStageFile, {"chief"}},
    {Method::kStageCommit, {"chief"}},
    {Method::kStageDrop, {"chief"}},
    {Method::kJobJoin, {"worker", "admin"}},
    {Method::kWorkerAttach, {"chief"}},
    {Method::kWorkerRun, {"chief"}},
    {Method::kWorkerCancel, {"chief"}},
    {Method::kWorkerMake, {"chief"}},
    {Method::kWorkerDrop, {"chief"}},
    {Method::kWorkerStatus, kEveryRole},
    {Method::kDispatchStatus, kEveryRole},
};

TEST(PermissionsTest, EachMethodForEachRole) {
  // Every number, so that a forgotten method is found too.
  for (unsigned number = 0; number <= UINT16_MAX; ++number) {
    const auto method = static_cast<Method>(number);
    const auto may = kMay.find(method);
    for (const std::string& role : kEveryRole) {
      const bool allowed = may != kMay.end() && may->second.contains(role);
      ASSERT_EQ(CheckPermission(method, role, "ps").ok(), allowed)
          << "method " << number << ", role " << role;
    }
  }
}

TEST(PermissionsTest, ItDoesNotDependOnWhoIsAsked) {
  for (const auto& [method, may] : kMay) {
    for (const std::string& role : kEveryRole) {
      for (const std::string& self : kEveryRole) {
        EXPECT_EQ(CheckPermission(method, role, self).ok(), may.contains(role));
      }
    }
  }
}

TEST(PermissionsTest, UnknownRolesMayNothing) {
  for (const auto& [method, may] : kMay) {
    for (const char* role :
         {"", "Chief", "chief ", "chief/0", "chief,admin", "root", "ch"}) {
      EXPECT_THAT(CheckPermission(method, role, "ps"),
                  StatusIs(kPermissionDenied));
    }
  }
}

TEST(PermissionsTest, TheRefusalSaysWhoMay) {
  EXPECT_THAT(CheckPermission(Method::kMemberEnd, "worker", "ps"),
              StatusIs(kPermissionDenied,
                       "role 'worker' may not call MemberEnd of a ps; only "
                       "chief may"));
  EXPECT_THAT(CheckPermission(static_cast<Method>(999), "chief", "ps"),
              StatusIs(kPermissionDenied,
                       AllOf(HasSubstr("method 999"), HasSubstr("nobody"))));
}

}  // namespace
}  // namespace capstan
