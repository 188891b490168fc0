#include "cluster/slurm_node_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "cluster/mistake_test.h"
#include "testing/status_matchers.h"

namespace capstan {
namespace {

using ::capstan::testing::IsOkAndHolds;
using ::capstan::testing::Mistake;
using ::capstan::testing::MistakeName;
using ::capstan::testing::Reports;
using ::testing::ElementsAre;
using ::testing::SizeIs;

using Hosts = std::vector<std::string>;

TEST(NodeListTest, Examples) {
  const std::vector<std::pair<std::string, Hosts>> examples = {
      {"login", {"login"}},
      {"a,b,a", {"a", "b", "a"}},
      {"node[1-3]", {"node1", "node2", "node3"}},
      {"node[3]", {"node3"}},
      {"node[01-03,7]", {"node01", "node02", "node03", "node7"}},
      {"n[8-11]", {"n8", "n9", "n10", "n11"}},
      {"n[08-11]", {"n08", "n09", "n10", "n11"}},
      {"n[099-101]", {"n099", "n100", "n101"}},
      {"n[0,00,000]", {"n0", "n00", "n000"}},
      {"node[01-03,7],gpu-[1-2]x[3-4],login",
       {"node01", "node02", "node03", "node7", "gpu-1x3", "gpu-1x4", "gpu-2x3",
        "gpu-2x4", "login"}},
      {"r[1-2]c[1,3]s", {"r1c1s", "r1c3s", "r2c1s", "r2c3s"}},
      {"[1-2]", {"1", "2"}},
      {"a[1-2][3-4]", {"a13", "a14", "a23", "a24"}},
      {"n[5,1-2]", {"n5", "n1", "n2"}},
      {"i01r07c03s[10-12,14]opa",
       {"i01r07c03s10opa", "i01r07c03s11opa", "i01r07c03s12opa",
        "i01r07c03s14opa"}},
      {"host-1.example.com,host_2", {"host-1.example.com", "host_2"}},
  };
  for (const auto& [list, hosts] : examples) {
    EXPECT_THAT(ExpandNodeList(list), IsOkAndHolds(hosts)) << list;
  }
}

TEST(NodeListTest, AsManyHostsAsAllowed) {
  EXPECT_THAT(ExpandNodeList("n[1-65536]"), IsOkAndHolds(SizeIs(65'536)));
  EXPECT_THAT(ExpandNodeList("n[0-255]x[0-255]"), IsOkAndHolds(SizeIs(65'536)));
}

class BadNodeListTest : public ::testing::TestWithParam<Mistake<std::string>> {
};

TEST_P(BadNodeListTest, SaysWhere) {
  EXPECT_THAT(ExpandNodeList(GetParam().input), Reports(GetParam()));
}

INSTANTIATE_TEST_SUITE_P(
    All, BadNodeListTest,
    ::testing::ValuesIn(std::vector<Mistake<std::string>>{
        {"Empty", "", {"column 1", "ends too early"}},
        {"Unclosed", "node[1-3", {"\"node[1-3\"", "column 9", "too early"}},
        {"Unopened", "node1-3]", {"column 8", "unexpected \"]\""}},
        {"Nested", "n[1-[2-3]]", {"column 5", "unexpected \"[\""}},
        {"EmptyBrackets", "n[]", {"column 3", "unexpected \"]\""}},
        {"EmptyRange", "n[1,,2]", {"column 5", "unexpected \",\""}},
        {"NoEnd", "n[1-]", {"column 5", "unexpected \"]\""}},
        {"NoStart", "n[-2]", {"column 3", "unexpected \"-\""}},
        {"TwoDashes", "n[1-2-3]", {"column 6", "unexpected \"-\""}},
        {"Letters", "n[a-c]", {"column 3", "unexpected \"a\""}},
        {"Backwards", "n[3-1]", {"the range 3-1 runs backwards"}},
        {"EmptyItem", "a,,b", {"column 3", "unexpected \",\""}},
        {"TrailingComma", "a,", {"column 3", "too early"}},
        {"LeadingComma", ",a", {"column 1", "unexpected \",\""}},
        {"Blank", "a b", {"column 2", "unexpected \" \""}},
        {"LineFeed", "a\nb", {"column 2", "\\n"}},
        {"Step", "n[1-9:2]", {"column 6", "unexpected \":\""}},
        {"HugeNumber", "n[1-9999999999]", {"more than 9 digits"}},
        {"HugeRange", "n[1-999999999]", {"more than 65536 hosts"}},
        {"HugeProduct", "n[0-999]x[0-999]", {"more than 65536 hosts"}},
        {"HugeSum", "n[1-65536],m", {"more than 65536 hosts"}},
        {"HugeList", "n[1-65536,7]", {"more than 65536 hosts"}},
        {"LongName", std::string(254, 'n'), {"more than 253 letters"}},
    }),
    MistakeName());

// The oracle: lists are generated as structures, written out as text, and
// expanded here by decimal counting, without any parsing.
struct Range {
  std::string first;
  int count;
};
struct Segment {
  std::string text;           // or, if empty:
  std::vector<Range> ranges;  // in brackets
};
using Item = std::vector<Segment>;

// "09" -> "10", "99" -> "100".
std::string Next(std::string digits) {
  for (size_t i = digits.size(); i-- > 0;) {
    if (digits[i] != '9') {
      ++digits[i];
      return digits;
    }
    digits[i] = '0';
  }
  return "1" + digits;
}

Hosts Numbers(const Segment& segment) {
  if (!segment.text.empty()) return {segment.text};
  Hosts numbers;
  for (const Range& range : segment.ranges) {
    std::string number = range.first;
    for (int i = 0; i < range.count; ++i, number = Next(number)) {
      numbers.push_back(number);
    }
  }
  return numbers;
}

// The hosts of an item's segments from `at` on, each prefixed with `prefix`.
void Walk(const Item& item, size_t at, const std::string& prefix,
          Hosts& hosts) {
  if (at == item.size()) {
    hosts.push_back(prefix);
    return;
  }
  for (const std::string& number : Numbers(item[at])) {
    Walk(item, at + 1, prefix + number, hosts);
  }
}

std::string Write(const Segment& segment) {
  if (!segment.text.empty()) return segment.text;
  std::string text;
  for (const Range& range : segment.ranges) {
    std::string last = range.first;
    for (int i = 1; i < range.count; ++i) last = Next(last);
    text += text.empty() ? "[" : ",";
    text += range.first;
    if (range.count > 1) text += "-" + last;
  }
  return text + "]";
}

rc::Gen<std::string> Letters(const std::string& letters, int least, int most) {
  return rc::gen::mapcat(
      rc::gen::inRange(least, most + 1), [letters](int size) {
        return rc::gen::container<std::string>(static_cast<size_t>(size),
                                               rc::gen::elementOf(letters));
      });
}

Segment AnySegment() {
  if (*rc::gen::arbitrary<bool>()) {
    return {*Letters("abz09-._", 1, 4), {}};
  }
  Segment brackets;
  const int ranges = *rc::gen::inRange(1, 4);
  for (int i = 0; i < ranges; ++i) {
    brackets.ranges.push_back(
        {*Letters("0123456789", 1, 4), *rc::gen::inRange(1, 8)});
  }
  return brackets;
}

RC_GTEST_PROP(NodeListProperty, AgreesWithTheOracle, ()) {
  std::string text;
  Hosts expected;
  const int items = *rc::gen::inRange(1, 4);
  for (int i = 0; i < items; ++i) {
    Item item;
    const int segments = *rc::gen::inRange(1, 4);
    for (int j = 0; j < segments; ++j) item.push_back(AnySegment());
    Walk(item, 0, "", expected);
    if (!text.empty()) text += ",";
    for (const Segment& segment : item) text += Write(segment);
  }
  const auto hosts = ExpandNodeList(text);
  RC_ASSERT(hosts.ok());
  RC_ASSERT(*hosts == expected);
}

RC_GTEST_PROP(NodeListProperty, AnyTextIsExpandedOrExplained, ()) {
  const std::string text = *Letters("ab019-.,[]x \n", 0, 12);
  const auto hosts = ExpandNodeList(text);
  if (!hosts.ok()) {
    RC_ASSERT(hosts.status().code() == absl::StatusCode::kInvalidArgument);
    return;
  }
  RC_ASSERT(!hosts->empty());
  for (const std::string& host : *hosts) {
    RC_ASSERT(!host.empty());
    RC_ASSERT(host.find_first_of(",[] \n") == std::string::npos);
  }
}

TEST(TasksPerNodeTest, Examples) {
  EXPECT_THAT(ExpandTasksPerNode("4"), IsOkAndHolds(ElementsAre(4)));
  EXPECT_THAT(ExpandTasksPerNode("2(x3),1"),
              IsOkAndHolds(ElementsAre(2, 2, 2, 1)));
  EXPECT_THAT(ExpandTasksPerNode("1,4(x2),8"),
              IsOkAndHolds(ElementsAre(1, 4, 4, 8)));
  EXPECT_THAT(ExpandTasksPerNode("3(x1)"), IsOkAndHolds(ElementsAre(3)));
}

class BadTasksPerNodeTest
    : public ::testing::TestWithParam<Mistake<std::string>> {};

TEST_P(BadTasksPerNodeTest, SaysWhatIsWrong) {
  EXPECT_THAT(ExpandTasksPerNode(GetParam().input), Reports(GetParam()));
}

INSTANTIATE_TEST_SUITE_P(
    All, BadTasksPerNodeTest,
    ::testing::ValuesIn(std::vector<Mistake<std::string>>{
        {"Empty", "", {"\"\" is not a number of tasks"}},
        {"Zero", "0", {"\"0\" is not a number of tasks"}},
        {"Text", "two", {"\"two\"", "such as 2 or 2(x3)"}},
        {"TrailingComma", "2,", {"\"2,\": \"\" is not"}},
        {"NoTimes", "2(x)", {"\"2(x)\" is not"}},
        {"ZeroTimes", "2(x0)", {"\"2(x0)\" is not"}},
        {"Unclosed", "2(x3", {"\"2(x3\" is not"}},
        {"NoTasks", "(x3)", {"\"(x3)\" is not"}},
        {"After", "2(x3)4", {"\"2(x3)4\" is not"}},
        {"TooMany", "60000(x60000)", {"more than 65536 tasks"}},
    }),
    MistakeName());

RC_GTEST_PROP(TasksPerNodeProperty, ReadsBackWhatIsWritten, ()) {
  std::vector<int> expected;
  std::string text;
  const int entries = *rc::gen::inRange(1, 6);
  for (int i = 0; i < entries; ++i) {
    const int tasks = *rc::gen::inRange(1, 100);
    const int times = *rc::gen::inRange(1, 20);
    expected.insert(expected.end(), static_cast<size_t>(times), tasks);
    if (!text.empty()) text += ",";
    text += std::to_string(tasks);
    if (times > 1) text += "(x" + std::to_string(times) + ")";
  }
  RC_ASSERT(*ExpandTasksPerNode(text) == expected);
}

}  // namespace
}  // namespace capstan
