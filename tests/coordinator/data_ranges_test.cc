// Ranges of data that the coordinator hands out with the steps.
#include <atomic>
#include <mutex>

#include "coordinator/helpers.h"

namespace capstan {
namespace {

using ::testing::Each;
using testing::ErrorOf;
using ::testing::HasSubstr;
using testing::IsError;
using testing::Job;

class DataRangesTest : public ::testing::TestWithParam<std::size_t> {
 protected:
  static constexpr std::int64_t kExamples = 103;  // the last range is short
  static constexpr std::int64_t kBatch = 10;
  static constexpr std::uint64_t kEpochs = 3;

  DataRangesTest()
      : step_(definitions_.AddFunction(
            "step", [this](WorkerContext&, DataRange range) { Use(range); })),
        used_(kEpochs, std::vector<int>(kExamples)) {}

  static DataRangesOptions Options() {
    return {.examples = kExamples, .batch = kBatch, .shuffle = true, .seed = 4};
  }

  // What a step does with its range; `fail_` may throw instead.
  void Use(const DataRange& range) {
    const std::lock_guard lock(mutex_);
    if (fail_) fail_(range);
    ASSERT_LT(range.epoch, kEpochs);
    for (std::int64_t i = range.begin; i < range.end; ++i) {
      ++used_[range.epoch][static_cast<std::size_t>(i)];
    }
  }

  void ExpectEachOnce() {
    const std::lock_guard lock(mutex_);
    EXPECT_THAT(used_, Each(Each(1)));
  }

  const CoordinatorOptions options_ = testing::WithCapacity(GetParam());
  Definitions definitions_;
  const Function<void, DataRange> step_;
  std::mutex mutex_;
  std::function<void(const DataRange&)> fail_;
  std::vector<std::vector<int>> used_;  // by epoch and example
};

INSTANTIATE_TEST_SUITE_P(, DataRangesTest,
                         ::testing::Values(testing::kWide, testing::kNarrow),
                         testing::CapacityName);

TEST_P(DataRangesTest, EveryExampleIsUsedOncePerEpoch) {
  Job job(definitions_, 3, 1, options_);
  DataRanges ranges(Options());
  EXPECT_EQ(ranges.steps_per_epoch(), 11u);
  while (ranges.epoch() < kEpochs) {
    while (std::optional<DataTicket> range = ranges.Next()) {
      job.coordinator.Schedule(step_, *std::move(range));
    }
    job.coordinator.Join();
    EXPECT_EQ(ranges.outstanding(), 0u);
  }
  ExpectEachOnce();
}

TEST_P(DataRangesTest, WithoutARemainderTheLastExamplesAreNotUsed) {
  Job job(definitions_, 3, 1, options_);
  DataRangesOptions options = Options();
  options.drop_remainder = true;
  DataRanges ranges(options);
  while (ranges.epoch() < kEpochs) {
    while (std::optional<DataTicket> range = ranges.Next()) {
      job.coordinator.Schedule(step_, *std::move(range));
    }
    job.coordinator.Join();
  }
  for (std::size_t i = 0; i < kExamples; ++i) {
    for (std::size_t epoch = 0; epoch < kEpochs; ++epoch) {
      EXPECT_EQ(used_[epoch][i], i < 100 ? 1 : 0) << i;
    }
  }
}

TEST_P(DataRangesTest, APositionIsSavedAndRestoredBetweenEpochs) {
  std::string position;
  for (std::uint64_t epoch = 0; epoch < kEpochs; ++epoch) {
    // Each time another coordinator, which goes on where the last one was.
    Job job(definitions_, 3, 1, options_);
    DataRanges ranges(Options());
    if (!position.empty()) ranges.Restore(position);
    EXPECT_EQ(ranges.epoch(), epoch);
    while (std::optional<DataTicket> range = ranges.Next()) {
      job.coordinator.Schedule(step_, *std::move(range));
    }
    job.coordinator.Join();
    position = ranges.Save();
  }
  ExpectEachOnce();
}

TEST_P(DataRangesTest, APositionIsSavedAndRestoredWithinAnEpoch) {
  std::string position;
  for (int run = 0; run < 50; ++run) {
    Job job(definitions_, 3, 1, options_);
    DataRanges ranges(Options());
    if (!position.empty()) ranges.Restore(position);
    if (ranges.epoch() == kEpochs) break;
    for (int i = 0; i < 4; ++i) {
      std::optional<DataTicket> range = ranges.Next();
      if (!range) break;
      job.coordinator.Schedule(step_, *std::move(range));
    }
    job.coordinator.Join();
    position = ranges.Save();
  }
  ExpectEachOnce();
}

// The loop of a program that goes on after failures.
TEST_P(DataRangesTest, TheRangeOfAFailedStepIsHandedOutAgain) {
  int failures = 0;
  fail_ = [&](const DataRange& range) {
    if (range.index % 4 == 3 && failures < 12 && ++failures % 2 == 1) {
      throw Error(ErrorCode::kDataLoss, "unlucky");
    }
  };
  Job job(definitions_, 3, 1, options_);
  DataRanges ranges(Options());
  // Whether all epochs have been handed out; what comes back later belongs to
  // one that may have been announced to be over.
  const auto schedule = [&] {
    while (std::optional<DataTicket> range = ranges.Next()) {
      if (range->range().epoch == kEpochs) return true;
      job.coordinator.Schedule(step_, *std::move(range));
    }
    return false;
  };
  int thrown = 0;
  bool over = false;
  while (!over) {
    try {
      const bool last = schedule();
      job.coordinator.Join();
      over = last;
    } catch (const Error& error) {
      EXPECT_THAT(error, IsError(ErrorCode::kDataLoss, HasSubstr("unlucky")));
      EXPECT_EQ(ranges.outstanding(), 0u) << "all are back or done";
      ++thrown;
    }
  }
  EXPECT_GT(thrown, 0);
  ExpectEachOnce();
}

// When an error is thrown, nothing is out any more: neither the range of the
// step that failed nor those of the steps that were cancelled.
TEST_P(DataRangesTest, RangesAreBackBeforeTheErrorIsThrown) {
  fail_ = [](const DataRange&) { throw Error(ErrorCode::kDataLoss, "always"); };
  Job job(definitions_, 2, 1, options_);
  DataRanges ranges(Options());
  for (int i = 0; i < 300; ++i) {
    try {
      for (int k = 0; k < 8; ++k) {
        job.coordinator.Schedule(step_, *ranges.Next());
      }
      job.coordinator.Join();
      ADD_FAILURE() << "nothing was thrown";
    } catch (const Error& error) {
      ASSERT_EQ(ranges.outstanding(), 0u) << "after " << i;
    }
  }
  EXPECT_EQ(ranges.epoch(), 0u);
  EXPECT_EQ(ranges.Next()->range().epoch, 0u);
}

TEST_P(DataRangesTest, TheRangeOfACancelledStepIsHandedOutAgain) {
  testing::Door begun;
  testing::Door end;
  Definitions definitions;
  const auto block =
      definitions.AddFunction("block", [&](WorkerContext& worker, DataRange) {
        begun.Open();
        end.Wait(worker);
      });
  CoordinatorOptions options = options_;
  options.queued_per_worker = 0;
  Job job(definitions, 1, 1, options);
  DataRanges ranges({.examples = 20, .batch = 10});
  const RemoteValue<void> running =
      job.coordinator.Schedule(block, *ranges.Next());
  begun.Wait();
  const RemoteValue<void> queued =
      job.coordinator.Schedule(block, *ranges.Next());
  EXPECT_EQ(ranges.outstanding(), 2u);
  queued.Cancel();
  EXPECT_EQ(ranges.outstanding(), 1u);
  running.Cancel();
  EXPECT_THROW(running.Fetch(), Error);
  EXPECT_EQ(ranges.outstanding(), 0u);
  EXPECT_EQ(ranges.Next()->range().index, 0u);
  job.coordinator.Join();
}

TEST_P(DataRangesTest, RangesMayGoBeforeTheirSteps) {
  Job job(definitions_, 2, 1, options_);
  {
    DataRanges ranges(Options());
    for (int i = 0; i < 5; ++i) {
      job.coordinator.Schedule(step_, *ranges.Next());
    }
  }
  job.coordinator.Join();
}

}  // namespace
}  // namespace capstan
