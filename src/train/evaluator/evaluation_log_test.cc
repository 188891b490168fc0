#include "train/evaluator/evaluation_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <string>

#include "testing/temp_dir.h"

namespace capstan {
namespace {

using ::testing::Optional;
using testing::TempDir;

const FoundCheckpoint kFirst{.name = "ckpt-1", .save_id = "00000000000000a1"};
const FoundCheckpoint kSecond{.name = "ckpt-2", .save_id = "00000000000000a2"};

class EvaluationLogTest : public ::testing::Test {
 protected:
  // Opens the log as an evaluator that starts does.
  EvaluationLog Open() const {
    return EvaluationLog(dir_ / "log", "loss", MonitorMode::kAuto);
  }

  const TempDir dir_;
};

TEST_F(EvaluationLogTest, KnowsWhatWasAddedBefore) {
  EvaluationLog log = Open();
  EXPECT_FALSE(log.Has(kFirst));
  EXPECT_TRUE(log.IsBest(7));
  log.Add(kFirst, 10, {{"loss", 2}}, false);
  log.Add(kSecond, 20, {{"loss", 3}}, false);
  for (const EvaluationLog& now : {log, Open()}) {
    EXPECT_TRUE(now.Has(kFirst));
    EXPECT_TRUE(now.Has(kSecond));
    EXPECT_THAT(now.best(), Optional(2.0));
    EXPECT_TRUE(now.IsBest(1));
    EXPECT_FALSE(now.IsBest(2));
  }
}

TEST_F(EvaluationLogTest, TheSameNameMayBeOfAnother) {
  EvaluationLog log = Open();
  log.Add(kFirst, 10, {}, false);
  EXPECT_FALSE(Open().Has({.name = kFirst.name, .save_id = kSecond.save_id}));
}

TEST_F(EvaluationLogTest, LinesWithoutAnIdCountByName) {
  std::ofstream(dir_ / "log") << "{\"checkpoint\": \"ckpt-1\"}\n";
  EXPECT_TRUE(Open().Has(kFirst));
  EXPECT_FALSE(Open().Has(kSecond));
}

TEST_F(EvaluationLogTest, WhatIsNoNumberIsNeverTheBest) {
  EvaluationLog log = Open();
  EXPECT_FALSE(log.IsBest(std::nan("")));
  log.Add(kFirst, 10, {{"loss", std::nan("")}}, false);
  for (const EvaluationLog& now : {log, Open()}) {
    EXPECT_TRUE(now.Has(kFirst));
    EXPECT_EQ(now.best(), std::nullopt);
    EXPECT_TRUE(now.IsBest(1e30));
  }
}

// Otherwise the next best would be compared with a checkpoint that was lost.
TEST_F(EvaluationLogTest, OneThatIsLostIsNotTheBest) {
  EvaluationLog log = Open();
  log.Add(kFirst, 10, {{"loss", 1}}, true);
  for (const EvaluationLog& now : {log, Open()}) {
    EXPECT_TRUE(now.Has(kFirst));
    EXPECT_TRUE(now.IsBest(5));
  }
}

}  // namespace
}  // namespace capstan
