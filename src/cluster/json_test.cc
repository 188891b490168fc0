#include "cluster/json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "capstan/error.h"
#include "cluster/mistake_test.h"
#include "cluster/task_id.h"
#include "testing/status_matchers.h"

namespace capstan {
namespace {

using ::capstan::testing::Mistake;
using ::capstan::testing::MistakeName;
using ::capstan::testing::Reports;
using ::testing::HasSubstr;

TEST(ClusterJsonTest, DenseAndSparse) {
  const ClusterSpec spec = ClusterSpec::FromJson(
      R"({"worker": {"3": "c:1", "1": "b:1"}, "chief": ["a:1"], "ps": []})");
  EXPECT_EQ(spec,
            ClusterSpec::FromDict({{Role::kChief, {{0, "a:1"}}},
                                   {Role::kWorker, {{1, "b:1"}, {3, "c:1"}}}}));
  EXPECT_EQ(spec.ToJson(),
            R"({"chief":["a:1"],"worker":{"1":"b:1","3":"c:1"}})");
}

TEST(ClusterJsonTest, FromJsonThrows) {
  try {
    ClusterSpec::FromJson("{");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
    EXPECT_THAT(error.what(), HasSubstr("line 1, column 2"));
  }
}

RC_GTEST_PROP(ClusterJsonProperty, ReadsBackWhatIsWritten, ()) {
  ClusterSpec::Jobs jobs;
  for (const Role role : kRoles) {
    const auto indices =
        *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 6));
    for (const int index : indices) {
      jobs[role][index] = "h" + std::to_string(index) + ":1";
    }
  }
  const ClusterSpec spec = ClusterSpec::FromDict(std::move(jobs));
  RC_ASSERT(ClusterSpec::FromJson(spec.ToJson()) == spec);
}

RC_GTEST_PROP(JsonProperty, AnyBytesAreParsedOrExplainedOnOneLine,
              (const std::string& text)) {
  const absl::StatusOr<Json> value = ParseJson(text);
  if (value.ok()) return;
  RC_ASSERT(value.status().code() == absl::StatusCode::kInvalidArgument);
  RC_ASSERT(std::string(value.status().message()).find('\n') ==
            std::string::npos);
}

TEST(JsonTest, NestingDoesNotExhaustTheStack) {
  const std::string deep(200'000, '[');
  EXPECT_FALSE(ParseJson(deep).ok());
  EXPECT_TRUE(ParseJson(deep + std::string(200'000, ']')).ok());
}

TEST(JsonTest, SameKeyInDifferentObjectsIsFine) {
  EXPECT_OK(ParseJson(R"([{"a": {"a": 1}}, {"a": 2}])"));
}

TEST(JsonTest, TextOfValuesIsCut) {
  EXPECT_EQ(JsonText(Json::parse(R"({"a": [1, "b"]})")), R"({"a":[1,"b"]})");
  EXPECT_EQ(JsonText(Json(std::string(100, 'x'))),
            "\"" + std::string(59, 'x') + "...");
  EXPECT_EQ(JsonText(Json("\xff\n")), "\"\xef\xbf\xbd\\n\"");
}

class BadSyntaxTest : public ::testing::TestWithParam<Mistake<std::string>> {};

TEST_P(BadSyntaxTest, SaysWhere) {
  EXPECT_THAT(ParseJson(GetParam().input), Reports(GetParam()));
}

INSTANTIATE_TEST_SUITE_P(
    All, BadSyntaxTest,
    ::testing::ValuesIn(std::vector<Mistake<std::string>>{
        {"Empty", "", {"line 1, column 1", "ends too early"}},
        {"Truncated",
         "{\"cluster\": {",
         {"line 1, column 14", "{\"cluster\": {", "ends too early"}},
        {"SingleQuotes",
         "{'cluster': {}}",
         {"line 1, column 2", "{'cluster': {}}", "double quotes"}},
        {"TrailingComma",
         "{\"a\": 1,}",
         {"line 1, column 9", "remove the comma"}},
        {"TrailingCommaInList",
         "[1, 2, ]",
         {"line 1, column 8", "remove the comma"}},
        {"MissingComma", "{\"a\": 1 \"b\": 2}", {"line 1, column 11"}},
        {"SecondLine", "{\"a\": 1,\n  b: 2}", {"line 2, column 3", "b: 2"}},
        {"Trailing", "{} {}", {"line 1, column 4"}},
        {"Python", "{\"a\": None}", {"line 1, column 7", "None"}},
        {"HugeNumber", "1e999", {"out of range"}},
        {"TwiceTheKey",
         R"({"a": {"worker": [1], "worker": [2]}})",
         {"the key \"worker\" is there twice", "keep one"}},
    }),
    MistakeName());

class BadClusterJsonTest
    : public ::testing::TestWithParam<Mistake<std::string>> {};

TEST_P(BadClusterJsonTest, SaysWhere) {
  EXPECT_THAT(ReadClusterJson(Json::parse(GetParam().input)),
              Reports(GetParam()));
}

INSTANTIATE_TEST_SUITE_P(
    All, BadClusterJsonTest,
    ::testing::ValuesIn(std::vector<Mistake<std::string>>{
        {"List", R"(["a:1"])", {"cluster is [\"a:1\"]", "write an object"}},
        {"Null", "null", {"cluster is null"}},
        {"ArbitraryJob",
         R"({"some_job": ["a:1"]})",
         {"disallowed task type \"some_job\"", "chief, worker, ps, evaluator"}},
        {"JobIsText",
         R"({"worker": "a:1"})",
         {"cluster.worker is \"a:1\"", "a list of addresses"}},
        {"AddressIsNumber",
         R"({"worker": ["a:1", 42]})",
         {"cluster.worker[1] is 42", "write an address"}},
        {"AddressIsList",
         R"({"worker": [["a:1"]]})",
         {"cluster.worker[0] is [\"a:1\"]"}},
        {"SparseKey",
         R"({"worker": {"one": "a:1"}})",
         {"cluster.worker has the key \"one\"", "an index from 0"}},
        {"SparseNegative", R"({"worker": {"-1": "a:1"}})", {"\"-1\""}},
        {"SparseTwice",
         R"({"worker": {"1": "a:1", "01": "b:1"}})",
         {"cluster.worker has the index 1 twice"}},
        {"Address",
         R"({"worker": ["a:1", "b"]})",
         {"worker/1: address \"b\"", "no port"}},
    }),
    MistakeName());

}  // namespace
}  // namespace capstan
