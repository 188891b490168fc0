#include "train/fit_record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "capstan/error.h"
#include "coordinator/job_record.h"

namespace capstan {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(FitRecordTest, ReadsBackWhatWasWritten) {
  FitRecord record;
  record.call = 2;
  record.epoch = 3;
  record.batch = 17;
  record.block_batch = 4;
  record.steps_per_execution = 5;
  record.batches_per_epoch = 30;
  record.data = "Rows(240).Batch(8)";
  record.iterations = 1'234;
  record.shuffle_seed = UINT64_MAX;
  record.learning_rate = 0.1;
  record.report.batches = 17;
  record.report.loss_sum = 1.0 / 3;
  record.report.metric_states = {{0.1, 2}, {}};
  record.history.Add(2, {{"loss", 1.0 / 7}, {"x", std::nan("")}});
  record.callbacks = {{"EarlyStopping", "[1,2,3]"}};
  const FitRecord read = DecodeFitRecord(EncodeFitRecord(record));
  EXPECT_EQ(read.call, 2u);
  EXPECT_FALSE(read.done);
  EXPECT_EQ(read.epoch, 3);
  EXPECT_EQ(read.batch, 17);
  EXPECT_EQ(read.block_batch, 4);
  EXPECT_EQ(read.steps_per_execution, 5);
  EXPECT_EQ(read.batches_per_epoch, 30);
  EXPECT_EQ(read.data, record.data);
  EXPECT_EQ(read.iterations, 1'234);
  EXPECT_EQ(read.shuffle_seed, UINT64_MAX);
  EXPECT_EQ(read.learning_rate, 0.1);
  EXPECT_EQ(read.report.loss_sum, 1.0 / 3);
  EXPECT_EQ(read.report.metric_states, record.report.metric_states);
  EXPECT_THAT(read.history["loss"], ElementsAre(1.0 / 7));
  EXPECT_TRUE(std::isnan(read.history["x"][0]));
  EXPECT_EQ(read.callbacks, record.callbacks);
}

// The size in the job's record, in which the text is a string, so quotes are
// escaped.
size_t SizeInJob(const std::string& text) {
  JobRecord job;
  job.parts[""] = text;
  return EncodeJobRecord(job).size();
}

// A long training with many metrics must not exceed what servers accept.
TEST(FitRecordTest, IsNeverTooLargeForTheServers) {
  FitRecord record;
  Logs logs;
  for (int i = 0; i < 20; ++i) logs["metric_" + std::to_string(i)] = 1.0 / 3;
  for (int epoch = 0; epoch < 20'000; ++epoch) {
    record.history.Add(epoch, logs);
  }
  record.batch = 1;
  record.iterations = 1;
  record.report.batches = 1;
  record.report.metric_states.assign(4, std::vector<double>(40'000, 1.0 / 3));
  const std::string text = EncodeFitRecord(record);
  EXPECT_LT(SizeInJob(text), kMostHistoryText + 1'000);
  const FitRecord read = DecodeFitRecord(text);
  EXPECT_THAT(read.report.metric_states, IsEmpty());
  ASSERT_FALSE(read.history.epochs().empty());
  EXPECT_EQ(read.history.epochs().back(), 19'999);
  EXPECT_EQ(read.history.epochs().front() + 1, read.history.epochs()[1]);
}

// No matter how often Fit is called.
TEST(FitRecordTest, DoesNotGrowWithTheNumberOfCalls) {
  FitRecord record;
  record.history.Add(0, {{"loss", 1.0 / 3}});
  std::vector<size_t> sizes;
  for (std::uint64_t call = 1; call <= 40'000; ++call) {
    record.past[call] = record.history;
    record.call = call + 1;
    if (call % 10'000 == 0) {
      sizes.push_back(SizeInJob(EncodeFitRecord(record)));
    }
  }
  for (const size_t size : sizes) EXPECT_LT(size, kMostHistoryText + 1'000);
  const FitRecord read = DecodeFitRecord(EncodeFitRecord(record));
  // The newest calls, without a gap.
  ASSERT_GT(read.past.size(), 100u);
  EXPECT_EQ(read.past.rbegin()->first, 40'000u);
  EXPECT_EQ(read.past.begin()->first, 40'001 - read.past.size());
  // And none if space is tight.
  EXPECT_LT(FitRecordPart(record).spare->size(), 1'000u);
}

TEST(FitRecordTest, StatesOfCallbacksAreBounded) {
  FitRecord record;
  record.callbacks = {{"EarlyStopping", "[1]"},
                      {"Mine", std::string(kMostCallbackText, 'x')}};
  try {
    EncodeFitRecord(record);
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kResourceExhausted);
    EXPECT_THAT(error.what(), HasSubstr("the state of 'Mine' has 65536"));
  }
}

std::string RefusalOf(const std::string& text) {
  try {
    DecodeFitRecord(text);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kDataLoss);
    return error.what();
  }
  return "none";
}

TEST(FitRecordTest, WhatIsNoneIsRefused) {
  for (const char* text : {"", "{}", "[1", "{\"call\": \"x\"}"}) {
    EXPECT_THAT(RefusalOf(text), HasSubstr("the record of a training"));
  }
}

TEST(FitRecordTest, WhatMakesNoSenseIsRefused) {
  FitRecord record;
  record.epoch = 1;
  record.epochs = 2;
  record.batch = 101;
  record.block_batch = 10;
  record.iterations = 500;
  record.report.batches = 100;
  record.report.examples = 800;
  EXPECT_EQ(RefusalOf(EncodeFitRecord(record)), "none");
  record.batches_per_epoch = 100;
  EXPECT_THAT(RefusalOf(EncodeFitRecord(record)),
              HasSubstr("batch 101 of 100"));
  record.batch = 99;
  EXPECT_THAT(RefusalOf(EncodeFitRecord(record)),
              HasSubstr("100 batches counted in the epoch"));
  record.batch = 100;
  record.iterations = 99;
  EXPECT_THAT(RefusalOf(EncodeFitRecord(record)), HasSubstr("99 in all"));
  record.iterations = 500;
  record.block_batch = 101;
  EXPECT_THAT(RefusalOf(EncodeFitRecord(record)), HasSubstr("begin at 101"));
  record.block_batch = 10;
  const std::string good = EncodeFitRecord(record);
  EXPECT_EQ(RefusalOf(good), "none");
  for (const char* field :
       {"call", "epoch", "epochs", "batch", "batches_per_epoch", "block_batch",
        "steps_per_execution", "iterations", "batches", "examples"}) {
    const std::string name = "\"" + std::string(field) + "\":";
    const size_t begin = good.find(name) + name.size();
    ASSERT_GT(begin, name.size()) << field;
    const size_t size = good.find_first_of(",}", begin) - begin;
    for (const char* value : {"-1", "1.5", "1e300", "18446744073709551616"}) {
      std::string bad = good;
      bad.replace(begin, size, value);
      EXPECT_THAT(RefusalOf(bad), HasSubstr(field)) << value;
    }
  }
}

}  // namespace
}  // namespace capstan
