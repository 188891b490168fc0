#include "launch/status/dispatch_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace capstan {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

DispatchReport SomeReport() {
  DispatchReport report;
  report.active = true;
  report.queued = 12;
  report.in_flight = 3;
  report.finished = 1'000;
  report.per_second = 99.7;
  report.lost_retries = 2;
  report.error = "boom\x1b[2J";
  LinkReport ready;
  ready.task = "worker/0";
  ready.state = LinkState::kReady;
  ready.in_flight = 3;
  ready.mean_us = 1'500;
  ready.p99_us = 2'000'000;
  ready.oldest_step = 77;
  ready.oldest_function = "train_step";
  ready.oldest_ms = 250;
  LinkReport lost;
  lost.task = "worker/1";
  lost.error = "connection refused";
  report.workers = {ready, lost};
  return report;
}

TEST(DispatchTableTest, TheQueueAndEachWorker) {
  const std::string table = DispatchTable(SomeReport());
  EXPECT_THAT(table, AllOf(HasSubstr("12 queued, 3 in flight, 1000 finished "
                                     "(100/s)"),
                           HasSubstr("2 because a worker was lost"),
                           HasSubstr("1.5 ms"), HasSubstr("2.0 s"),
                           HasSubstr("step 77 ('train_step') for 250.0 ms")));
  EXPECT_THAT(table, AllOf(HasSubstr("worker/1     connecting"),
                           HasSubstr("connection refused")));
}

TEST(DispatchTableTest, TextsCannotTouchTheTerminal) {
  EXPECT_THAT(DispatchTable(SomeReport()), Not(HasSubstr("\x1b")));
}

TEST(DispatchTableTest, NothingToSayIsNotSaid) {
  EXPECT_EQ(DispatchTable(DispatchReport()), "");
}

}  // namespace
}  // namespace capstan
