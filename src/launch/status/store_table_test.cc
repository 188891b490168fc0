#include "launch/status/store_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace capstan {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

std::vector<ServerStore> OneServer() {
  VariableReport variable;
  variable.name = "w\x1b[2J";
  variable.bytes = 2'000'000;
  variable.version = 7;
  variable.applied = 6;
  variable.duplicates = 5;
  variable.staleness[0] = 10;
  variable.staleness[3] = 9;
  StoreReport report;
  report.bytes_used = 2'000'000;
  report.bytes_limit = 1'000'000'000;
  report.variables = {variable, variable};
  return {{.task = "ps/0", .report = report},
          {.task = "ps/1", .report = absl::UnavailableError("gone\n")}};
}

TEST(StoreTableTest, AServerIsTheSumOfItsShards) {
  const std::string table = StoresTable(OneServer());
  EXPECT_THAT(table, AllOf(HasSubstr("ps/0"), HasSubstr(" 2.0 MB"),
                           HasSubstr("1000.0 MB"), HasSubstr(" 12 ")));
  // Half of them missed nothing; one in a hundred missed four to seven.
  EXPECT_THAT(table, AllOf(HasSubstr("        0       4-7\n"),
                           HasSubstr("ps/1     gone\\x0a\n")));
}

TEST(StoreTableTest, AServerThatIsLeftOutIsSaidToBe) {
  std::vector<ServerStore> stores = OneServer();
  stores[0].report->map_version = 1;
  stores[0].report->fence.generation = 3;
  stores[0].report->left_out = {1};
  // A server that is left out may still run, with its old variables.
  StoreReport old = *stores[0].report;
  old.fence.generation = 2;
  old.left_out = {0};
  for (const auto& report :
       {absl::StatusOr<StoreReport>(old),
        absl::StatusOr<StoreReport>(absl::UnavailableError("gone"))}) {
    stores[1].report = report;
    EXPECT_THAT(StoresTable(stores),
                AllOf(HasSubstr("ps/0          2"),
                      HasSubstr("ps/1     the job goes on without it\n")));
  }
}

TEST(StoreTableTest, NothingToSayIsNotSaid) {
  EXPECT_EQ(StoresTable({{.task = "ps/0", .report = StoreReport()}}), "");
}

TEST(StoreTableTest, NamesCannotTouchTheTerminal) {
  EXPECT_THAT(VariablesTable(OneServer()),
              AllOf(HasSubstr("w\\x1b[2J"), Not(HasSubstr("\x1b"))));
}

}  // namespace
}  // namespace capstan
