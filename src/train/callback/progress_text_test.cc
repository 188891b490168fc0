#include "train/callback/progress_text.h"

#include <gtest/gtest.h>

namespace capstan {
namespace {

ProgressState Quarter() {
  return {.done = 469,
          .total = 1875,
          .seconds = 4,
          .examples = 60'032,
          .values = {{"loss", 0.43214}, {"accuracy", 0.8512}},
          .workers = 2,
          .all_workers = 2,
          .staleness = 3};
}

TEST(ProgressTextTest, ABarWithAllOfIt) {
  EXPECT_EQ(BarLine(Quarter(), 200, false),
            " 469/1875 [======>.......................] 15,008 examples/s "
            "ETA 12 s - loss: 0.4321 - accuracy: 0.8512 - 2/2 workers - "
            "staleness p99 3");
}

TEST(ProgressTextTest, ABarAtItsBeginningAndItsEnd) {
  ProgressState state = Quarter();
  state.values.clear();
  state.all_workers = state.workers = 0;
  state.staleness.reset();
  state.done = 0;
  state.examples = 0;
  state.seconds = 0;
  EXPECT_EQ(BarLine(state, 200, false),
            "   0/1875 [..............................] 0 examples/s");
  state.done = 1875;
  state.examples = 240'000;
  state.seconds = 75;
  EXPECT_EQ(DoneLine(state, 200, false),
            "1875/1875 [==============================] 1 min 15 s 40 ms/step "
            "3,200 examples/s");
}

// A resumed epoch: batches done before took none of its time.
TEST(ProgressTextTest, WhatWasDoneBeforeIsNoPartOfTheSpeed) {
  ProgressState state = Quarter();
  state.before = 369;
  state.examples = 12'800;
  EXPECT_EQ(BarLine(state, 60, false),
            " 469/1875 [====>.................] 3,200 examples/s ETA 56 s");
  EXPECT_EQ(DoneLine(state, 60, false),
            " 469/1875 [==>...........] 4.0 s 40 ms/step 3,200 examples/s");
  state.values.clear();
  state.all_workers = state.workers = 0;
  state.staleness.reset();
  EXPECT_EQ(EpochLine(1, 10, state),
            "Epoch 2/10: 100 of 469 steps in 4.0 s (40 ms/step, 3,200 "
            "examples/s)");
}

TEST(ProgressTextTest, WithoutATotalThereIsNoBar) {
  ProgressState state = Quarter();
  state.total.reset();
  EXPECT_EQ(BarLine(state, 200, false),
            "469/? 15,008 examples/s - loss: 0.4321 - accuracy: 0.8512 - 2/2 "
            "workers - staleness p99 3");
}

TEST(ProgressTextTest, FitsTheWidth) {
  // The bar is shortened first, then parts are dropped from the end.
  EXPECT_EQ(BarLine(Quarter(), 120, false),
            " 469/1875 [==>............] 15,008 examples/s ETA 12 s - loss: "
            "0.4321 - accuracy: 0.8512 - 2/2 workers - staleness p99 3");
  EXPECT_EQ(
      BarLine(Quarter(), 79, false),
      " 469/1875 [=====>...................] 15,008 examples/s ETA 12 s - "
      "loss: 0.4321");
  EXPECT_EQ(BarLine(Quarter(), 40, false),
            " 469/1875 15,008 examples/s ETA 12 s");
  for (std::size_t width = 20; width < 160; ++width) {
    EXPECT_LE(BarLine(Quarter(), width, false).size(), width) << width;
  }
}

TEST(ProgressTextTest, ColoursOnlyTheBar) {
  const std::string plain = BarLine(Quarter(), 200, false);
  std::string coloured = BarLine(Quarter(), 200, true);
  const std::string green = "\x1b[32m";
  const std::string end = "\x1b[0m";
  ASSERT_NE(coloured.find(green), std::string::npos);
  coloured.erase(coloured.find(green), green.size());
  coloured.erase(coloured.find(end), end.size());
  EXPECT_EQ(coloured, plain);
}

TEST(ProgressTextTest, ALineForAnEpoch) {
  ProgressState state = Quarter();
  state.done = 1875;
  state.seconds = 4.125;
  state.examples = 240'000;
  EXPECT_EQ(EpochLine(1, 10, state),
            "Epoch 2/10: 1875 steps in 4.1 s (2.2 ms/step, 58,182 examples/s) "
            "- loss: 0.4321 - accuracy: 0.8512 - 2/2 workers - staleness p99 "
            "3");
}

TEST(ProgressTextTest, WhereTheTimeWentAndWhatToTry) {
  EXPECT_EQ(TimeLine({.data = 3e6, .pull = 8e6, .compute = 25e6, .push = 5e6}),
            "step 41 ms = data 3 + pull 8 + compute 25 + push 5");
  EXPECT_EQ(TimeLine({.data = 3e6, .pull = 22e6, .compute = 11e6, .push = 5e6}),
            "step 41 ms = data 3 + pull 22 + compute 11 + push 5; waits for "
            "values: try prefetch = true, larger batches, or more servers");
  EXPECT_EQ(TimeLine({.data = 6e5, .pull = 1e5, .compute = 2e5, .push = 1e4}),
            "step 0.91 ms = data 0.60 + pull 0.10 + compute 0.20 + push 0.01; "
            "waits for data: try .Prefetch(2), Map with more threads, or "
            ".Cache()");
  EXPECT_EQ(TimeLine({.data = 0, .pull = 1e6, .compute = 1e6, .push = 2e6}),
            "step 4.0 ms = data 0.0 + pull 1.0 + compute 1.0 + push 2.0; waits "
            "for updates: try larger batches, or more servers");
  EXPECT_EQ(TimeLine({}), "");
}

TEST(ProgressTextTest, Numbers) {
  EXPECT_EQ(NumberText(0), "0.0000");
  EXPECT_EQ(NumberText(12.34567), "12.3457");
  EXPECT_EQ(NumberText(1.23456e-5), "1.2346e-05");
  EXPECT_EQ(NumberText(-123456), "-1.2346e+05");
  EXPECT_EQ(CountText(999), "999");
  EXPECT_EQ(CountText(1234567), "1,234,567");
  EXPECT_EQ(DurationText(0.0022), "2.2 ms");
  EXPECT_EQ(DurationText(0.0412), "41 ms");
  EXPECT_EQ(DurationText(3.21), "3.2 s");
  EXPECT_EQ(DurationText(59.4), "59 s");
  EXPECT_EQ(DurationText(725), "12 min 5 s");
  EXPECT_EQ(DurationText(7'380), "2 h 3 min");
}

}  // namespace
}  // namespace capstan
