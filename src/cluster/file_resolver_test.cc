#include "cluster/file_resolver.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "capstan/error.h"
#include "cluster/mistake_test.h"
#include "testing/status_matchers.h"
#include "testing/temp_dir.h"

namespace capstan {
namespace {

using ::capstan::testing::Mistake;
using ::capstan::testing::MistakeName;
using ::capstan::testing::Reports;
using ::capstan::testing::StatusIs;
using ::capstan::testing::TempDir;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Optional;

constexpr char kFile[] = R"(# Four tasks.
job_id: ctr
cluster:
  chief: [10.0.0.1:7077]
  worker:
    - 10.0.0.2:7077
    - "[::1]:7077"
  ps: {0: unix:/run/ps0, 2: host:7077}
task: worker/1
rpc_layer: grpc
)";

void Write(const std::string& path, const std::string& text) {
  std::ofstream(path) << text;
}

TEST(ClusterFileTest, Everything) {
  const auto resolved = ParseClusterFile(kFile, "cluster.yaml");
  ASSERT_OK(resolved);
  EXPECT_EQ(resolved->spec.ToTable(),
            "chief/0   10.0.0.1:7077\n"
            "worker/0  10.0.0.2:7077\n"
            "worker/1  [::1]:7077\n"
            "ps/0      unix:/run/ps0\n"
            "ps/2      host:7077\n");
  EXPECT_THAT(resolved->task, Optional(TaskId{Role::kWorker, 1}));
  EXPECT_EQ(resolved->job_id, "ctr");
  EXPECT_EQ(resolved->source, "cluster.yaml");
}

TEST(ClusterFileTest, TaskAndJobAreOptional) {
  const auto resolved = ParseClusterFile("cluster: {chief: [a:1]}", "f");
  ASSERT_OK(resolved);
  EXPECT_EQ(resolved->task, std::nullopt);
  EXPECT_EQ(resolved->job_id, "");
}

TEST(FileResolverTest, ReadsTheDisk) {
  const TempDir directory;
  const std::string path = directory / "cluster.yaml";
  Write(path, kFile);
  const ResolvedCluster resolved =
      FileClusterResolver(path, {}, Environment()).Resolve();
  EXPECT_EQ(
      resolved.ToString(),
      "cluster: from " + path + ", 1 chief, 2 workers, 2 ps; this is worker/1");
}

// As Kubernetes mounts a ConfigMap.
TEST(FileResolverTest, FollowsSymbolicLinks) {
  const TempDir directory;
  std::filesystem::create_directory(directory / "real");
  Write(directory / "real/cluster.yaml", kFile);
  std::filesystem::create_symlink("real", directory / "link");
  std::filesystem::create_symlink("link/cluster.yaml",
                                  directory / "cluster.yaml");
  EXPECT_OK(ReadClusterFile(directory / "cluster.yaml", Environment(), {}));
}

TEST(FileResolverTest, TaskVariableAndOverrides) {
  const TempDir directory;
  const std::string path = directory / "cluster.yaml";
  Write(path, "cluster: {chief: [a:1], worker: [b:1, c:1], ps: [d:1]}");
  const Environment environment =
      Environment::Of({{"CAPSTAN_TASK", "worker/1"}});
  EXPECT_THAT(FileClusterResolver(path, {}, environment).Resolve().task,
              Optional(TaskId{Role::kWorker, 1}));
  EXPECT_THAT(
      FileClusterResolver(path, {.task_index = 0}, environment).Resolve().task,
      Optional(TaskId{Role::kWorker, 0}));
  EXPECT_EQ(FileClusterResolver(path, {}, Environment()).Resolve().task,
            std::nullopt);
}

TEST(FileResolverTest, TaskVariableMustAgree) {
  const TempDir directory;
  const std::string path = directory / "cluster.yaml";
  Write(path, kFile);
  EXPECT_THAT(
      ReadClusterFile(path, Environment::Of({{"CAPSTAN_TASK", "ps/0"}}), {}),
      StatusIs(absl::StatusCode::kFailedPrecondition,
               AllOf(HasSubstr("says that this is worker/1"),
                     HasSubstr("CAPSTAN_TASK says ps/0"))));
}

TEST(FileResolverTest, FileMustBeThere) {
  const TempDir directory;
  EXPECT_THAT(
      ReadClusterFile(directory / "none.yaml", Environment(), {}),
      StatusIs(absl::StatusCode::kNotFound,
               AllOf(HasSubstr("cluster file: "), HasSubstr("none.yaml"))));
  try {
    FileClusterResolver(directory / "none.yaml").Resolve();
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kNotFound);
  }
}

TEST(FileResolverTest, FileMustBeAFile) {
  const TempDir directory;
  EXPECT_FALSE(ReadClusterFile(directory.path(), Environment(), {}).ok());
}

TEST(FileResolverTest, FileMustBeSmall) {
  const TempDir directory;
  Write(directory / "large.yaml", std::string((1 << 20) + 1, '#'));
  EXPECT_THAT(ReadClusterFile(directory / "large.yaml", Environment(), {}),
              StatusIs(absl::StatusCode::kResourceExhausted));
}

RC_GTEST_PROP(ClusterFileProperty, AnyTextIsParsedOrExplained, ()) {
  const auto text = *rc::gen::container<std::string>(
      rc::gen::elementOf(std::string("abchief:worker[]{},-\n \"'#&*!|>%0")));
  const auto resolved = ParseClusterFile(text, "f");
  if (!resolved.ok()) {
    RC_ASSERT(resolved.status().code() == absl::StatusCode::kInvalidArgument);
    RC_ASSERT(std::string(resolved.status().message()).find('\n') ==
              std::string::npos);
  }
}

TEST(ClusterFileTest, NestingDoesNotExhaustTheStack) {
  EXPECT_FALSE(ParseClusterFile(std::string(200'000, '['), "f").ok());
}

class BadFileTest : public ::testing::TestWithParam<Mistake<std::string>> {};

TEST_P(BadFileTest, SaysWhere) {
  EXPECT_THAT(ParseClusterFile(GetParam().input, "c.yaml"),
              Reports(GetParam()));
}

INSTANTIATE_TEST_SUITE_P(
    All, BadFileTest,
    ::testing::ValuesIn(std::vector<Mistake<std::string>>{
        {"Empty", "", {"c.yaml", "the file is not a map"}},
        {"NotAMap", "- a", {"c.yaml:1: the file is not a map"}},
        {"NotYaml", "cluster:\n  chief: [a:1", {"c.yaml:", "not YAML"}},
        {"Tab", "cluster:\n\tchief: [a:1]", {"c.yaml:2: not YAML"}},
        {"UnknownKey",
         "cluster: {}\nclustr: {}",
         {"c.yaml:2: unknown key \"clustr\"", "cluster, job_id, task",
          "did you mean \"cluster\"?"}},
        {"KeyTwice",
         "cluster: {}\ncluster: {}",
         {"c.yaml:2: the key \"cluster\" is there twice"}},
        {"ClusterIsText", "cluster: here", {"c.yaml:1: cluster is not a map"}},
        {"UnknownJob",
         "cluster:\n  chief: [a:1]\n  workers: [b:1]",
         {"c.yaml:3: disallowed task type \"workers\"",
          "did you mean \"worker\"?"}},
        {"JobTwice",
         "cluster:\n  ps: [a:1]\n  ps: [b:1]",
         {"c.yaml:3: the key \"ps\" is there twice"}},
        {"JobIsText",
         "cluster:\n  chief: a:1",
         {"c.yaml:2: chief is not a list: write [host:port]"}},
        {"AddressIsMap",
         "cluster:\n  chief:\n    - a: 1",
         {"c.yaml:3: chief/0 is not a text"}},
        {"UnquotedV6",
         "cluster:\n  chief:\n    - [::1]",
         {"c.yaml:3: chief/0 is not a text", "in quotes"}},
        {"Address",
         "cluster:\n  worker:\n    - a:1\n    - b",
         {"c.yaml:4: worker/1: address \"b\"", "no port"}},
        {"SparseIndex",
         "cluster:\n  worker:\n    one: a:1",
         {"c.yaml:3: \"one\" is not an index"}},
        {"SparseTwice",
         "cluster:\n  worker:\n    1: a:1\n    01: b:1",
         {"c.yaml:4: worker/1 is there twice"}},
        {"Task", "task: worker", {"c.yaml:1: \"worker\" is not a task"}},
        {"TaskIsMap",
         "cluster: {}\ntask: {type: worker}",
         {"c.yaml:2: task is not a text: write worker/0"}},
        {"JobIdIsEmpty", "job_id:", {"c.yaml:1: job_id is not a text"}},
        {"RpcLayer",
         "rpc_layer: pigeon",
         {"c.yaml:1: unknown rpc_layer \"pigeon\""}},
        {"TwoDocuments",
         "cluster: {}\n---\ncluster: {}",
         {"c.yaml:2: more follows", "remove it"}},
        // Sends YAML::LoadAll into an endless loop.
        {"CommaAtTheEnd", "{cluster: {}},", {"c.yaml:1: more follows"}},
        {"KeyIsList", "[a]: 1", {"c.yaml:1", "a key that is not a text"}},
    }),
    MistakeName());

}  // namespace
}  // namespace capstan
