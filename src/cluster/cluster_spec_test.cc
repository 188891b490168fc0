#include "cluster/cluster_spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "capstan/error.h"
#include "cluster/mistake_test.h"
#include "testing/status_matchers.h"

namespace capstan {
namespace {

using ::capstan::testing::Mistake;
using ::capstan::testing::MistakeName;
using ::capstan::testing::Reports;
using ::capstan::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

ClusterSpec Small() {
  return ClusterSpec({{Role::kChief, {"a:1"}},
                      {Role::kWorker, {"b:1", "c:1"}},
                      {Role::kPs, {"d:1"}}});
}

// The Error that `call` throws, as a Status.
template <typename Call>
absl::Status Thrown(Call call) {
  try {
    call();
    return absl::OkStatus();
  } catch (const Error& error) {
    return absl::Status(static_cast<absl::StatusCode>(error.code()),
                        std::string(error.message()));
  }
}

TEST(ClusterSpecTest, DenseJobs) {
  const ClusterSpec spec = Small();
  EXPECT_EQ(spec.num_tasks(Role::kWorker), 2);
  EXPECT_EQ(spec.num_tasks(Role::kEvaluator), 0);
  EXPECT_EQ(spec.num_tasks(), 4);
  EXPECT_THAT(spec.task_indices(Role::kWorker), ElementsAre(0, 1));
  EXPECT_THAT(spec.task_indices(Role::kEvaluator), IsEmpty());
  EXPECT_EQ(spec.task_address({Role::kWorker, 1}), "c:1");
  EXPECT_TRUE(spec.is_dense(Role::kWorker));
  EXPECT_TRUE(spec.contains({Role::kPs, 0}));
  EXPECT_FALSE(spec.contains({Role::kPs, 1}));
  EXPECT_FALSE(spec.empty());
  EXPECT_THAT(spec.tasks(),
              ElementsAre(TaskId{Role::kChief, 0}, TaskId{Role::kWorker, 0},
                          TaskId{Role::kWorker, 1}, TaskId{Role::kPs, 0}));
  EXPECT_EQ(spec.as_dict(),
            (ClusterSpec::Jobs{{Role::kChief, {{0, "a:1"}}},
                               {Role::kWorker, {{0, "b:1"}, {1, "c:1"}}},
                               {Role::kPs, {{0, "d:1"}}}}));
}

TEST(ClusterSpecTest, SparseJobs) {
  const ClusterSpec spec = ClusterSpec::FromDict(
      {{Role::kWorker, {{3, "c:1"}, {1, "b:1"}}}, {Role::kPs, {{0, "d:1"}}}});
  EXPECT_THAT(spec.task_indices(Role::kWorker), ElementsAre(1, 3));
  EXPECT_EQ(spec.num_tasks(Role::kWorker), 2);
  EXPECT_EQ(spec.task_address({Role::kWorker, 3}), "c:1");
  EXPECT_FALSE(spec.is_dense(Role::kWorker));
  EXPECT_TRUE(spec.is_dense(Role::kPs));
  EXPECT_FALSE(spec.contains({Role::kWorker, 0}));
}

TEST(ClusterSpecTest, EmptySpec) {
  const ClusterSpec spec;
  EXPECT_TRUE(spec.empty());
  EXPECT_EQ(spec.num_tasks(), 0);
  EXPECT_EQ(spec.ToString(), "no tasks");
  EXPECT_EQ(spec.ToTable(), "");
  EXPECT_EQ(spec.ToJson(), "{}");
  EXPECT_EQ(spec, ClusterSpec::FromDict({{Role::kWorker, {}}}));
}

TEST(ClusterSpecTest, Comparison) {
  EXPECT_EQ(Small(), Small());
  EXPECT_EQ(Small(), ClusterSpec::FromDict(Small().as_dict()));
  EXPECT_NE(Small(), ClusterSpec());
  EXPECT_NE(Small(), ClusterSpec({{Role::kChief, {"a:1"}},
                                  {Role::kWorker, {"c:1", "b:1"}},
                                  {Role::kPs, {"d:1"}}}));
}

TEST(ClusterSpecTest, Printing) {
  EXPECT_EQ(Small().ToString(), "1 chief, 2 workers, 1 ps");
  EXPECT_EQ(Small().ToTable(),
            "chief/0   a:1\n"
            "worker/0  b:1\n"
            "worker/1  c:1\n"
            "ps/0      d:1\n");
}

TEST(ClusterSpecTest, MissingTaskIsNotFound) {
  EXPECT_THAT(Thrown([] {
                Small().task_address({Role::kWorker, 2});
              }),
              StatusIs(absl::StatusCode::kNotFound,
                       AllOf(HasSubstr("worker/2 is not in the cluster"),
                             HasSubstr("2 workers (index 0 to 1)"))));
  EXPECT_THAT(Thrown([] {
                Small().task_address({Role::kEvaluator, 0});
              }),
              StatusIs(absl::StatusCode::kNotFound,
                       HasSubstr("which has no evaluator")));
}

TEST(ClusterSpecTest, BadAddressNamesTheTask) {
  EXPECT_THAT(
      Thrown([] {
        ClusterSpec({{Role::kPs, {"a:1", "b"}}});
      }),
      StatusIs(absl::StatusCode::kInvalidArgument,
               AllOf(HasSubstr("ps/1: address \"b\""), HasSubstr("no port"))));
  EXPECT_THAT(MakeClusterSpec({{Role::kPs, {{0, "a:0"}}}}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("ps/0"), HasSubstr("port 0"))));
}

TEST(ClusterSpecTest, BadIndexIsRefused) {
  for (const int index : {-1, TaskId::kMaxIndex + 1}) {
    EXPECT_THAT(MakeClusterSpec({{Role::kWorker, {{index, "a:1"}}}}),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr("an index is from 0 to 999999")));
  }
}

TEST(ValidateTest, WholeClusters) {
  EXPECT_OK(ValidateCluster(Small()));
  Small().Validate();
  EXPECT_OK(ValidateCluster(
      ClusterSpec::FromDict({{Role::kChief, {{0, "a:1"}}},
                             {Role::kWorker, {{5, "b:1"}}},
                             {Role::kPs, {{2, "c:1"}, {7, "d:1"}}},
                             {Role::kEvaluator, {{0, "e:1"}}}})));
}

class BadClusterTest
    : public ::testing::TestWithParam<Mistake<ClusterSpec::Jobs>> {};

TEST_P(BadClusterTest, SaysWhatIsWrong) {
  const ClusterSpec spec = ClusterSpec::FromDict(GetParam().input);
  EXPECT_THAT(ValidateCluster(spec), Reports(GetParam()));
  EXPECT_THAT(Thrown([&] { spec.Validate(); }), Reports(GetParam()));
}

constexpr Role kC = Role::kChief;
constexpr Role kW = Role::kWorker;
constexpr Role kP = Role::kPs;
constexpr Role kE = Role::kEvaluator;

INSTANTIATE_TEST_SUITE_P(
    All, BadClusterTest,
    ::testing::ValuesIn(std::vector<Mistake<ClusterSpec::Jobs>>{
        {"Empty", {}, {"the cluster is empty", "a chief", "worker", "ps"}},
        {"NoChief",
         {{kW, {{0, "b:1"}}}, {kP, {{0, "c:1"}}}},
         {"no chief", "exactly one", "under \"chief\""}},
        {"ThreeChiefs",
         {{kC, {{0, "a:1"}, {1, "a:2"}, {2, "a:3"}}},
          {kW, {{0, "b:1"}}},
          {kP, {{0, "c:1"}}}},
         {"3 chiefs (a:1, a:2, a:3)", "only one",
          "list the others as workers"}},
        {"ChiefOfIndexOne",
         {{kC, {{1, "a:1"}}}, {kW, {{0, "b:1"}}}, {kP, {{0, "c:1"}}}},
         {"index of the only chief must be 0, not 1"}},
        {"NoWorker",
         {{kC, {{0, "a:1"}}}, {kP, {{0, "c:1"}}}},
         {"no worker", "there must be at least one worker",
          "under \"worker\""}},
        {"NoPs",
         {{kC, {{0, "a:1"}}}, {kW, {{0, "b:1"}}}},
         {"no ps", "there must be at least one ps", "under \"ps\""}},
        {"TwoEvaluators",
         {{kC, {{0, "a:1"}}},
          {kW, {{0, "b:1"}}},
          {kP, {{0, "c:1"}}},
          {kE, {{0, "e:1"}, {1, "e:2"}}}},
         {"2 evaluators (e:1, e:2)", "only one", "remove the others"}},
        {"SameAddress",
         {{kC, {{0, "a:1"}}}, {kW, {{0, "b:1"}}}, {kP, {{0, "a:1"}}}},
         {"chief/0 and ps/0 have the same address a:1", "its own port"}},
        {"SameAddressSpeltDifferently",
         {{kC, {{0, "a:1"}}},
          {kW, {{0, "b:1"}, {1, "B:01"}}},
          {kP, {{0, "c:1"}}}},
         {"worker/0 and worker/1 have the same address"}},
    }),
    MistakeName());

TEST(ValidateTaskTest, MembersAndEvaluators) {
  EXPECT_OK(ValidateTask(Small(), {Role::kChief, 0}));
  EXPECT_OK(ValidateTask(Small(), {Role::kWorker, 1}));
  // An evaluator works alone and need not be listed.
  EXPECT_OK(ValidateTask(Small(), {Role::kEvaluator, 0}));
}

struct TaskOf {
  ClusterSpec spec;
  TaskId task;
};

class BadMemberTest : public ::testing::TestWithParam<Mistake<TaskOf>> {};

TEST_P(BadMemberTest, SaysWhatIsWrong) {
  EXPECT_THAT(ValidateTask(GetParam().input.spec, GetParam().input.task),
              Reports(GetParam()));
}

using absl::StatusCode::kOutOfRange;

INSTANTIATE_TEST_SUITE_P(
    All, BadMemberTest,
    ::testing::ValuesIn(std::vector<Mistake<TaskOf>>{
        {"IndexOutOfRange",
         {Small(), {kW, 2}},
         {"worker/2 is not in the cluster", "2 workers (index 0 to 1)",
          "correct the type and index"},
         kOutOfRange},
        {"NegativeIndex", {Small(), {kW, -1}}, {"worker/-1"}, kOutOfRange},
        {"SecondChief",
         {Small(), {kC, 1}},
         {"chief/1", "1 chief (index 0)"},
         kOutOfRange},
        {"SecondEvaluator",
         {Small(), {kE, 1}},
         {"evaluator/1", "no evaluator"},
         kOutOfRange},
        {"HoleInSparse",
         {ClusterSpec::FromDict({{kW, {{1, "a:1"}, {3, "b:1"}}}}), {kW, 2}},
         {"worker/2", "2 workers (index 1, 3)"},
         kOutOfRange},
        {"JobNotThere",
         {ClusterSpec({{kW, {"a:1"}}}), {kP, 0}},
         {"ps/0 is not in the cluster, which has no ps"},
         kOutOfRange},
    }),
    MistakeName());

}  // namespace
}  // namespace capstan
