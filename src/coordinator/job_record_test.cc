#include "coordinator/job_record.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "testing/status_matchers.h"
#include "wire/parameter.h"

namespace capstan {
namespace {

using ::testing::HasSubstr;
using testing::StatusIs;

JobRecord Decoded(const RecordKeeper::Notice& notice) {
  const absl::StatusOr<JobRecord> record = DecodeJobRecord(notice.record);
  EXPECT_OK(record);
  return record.ok() ? *record : JobRecord();
}

TEST(JobRecordTest, IsReadAsItWasWritten) {
  JobRecord record;
  record.sequence = UINT64_MAX;
  record.parts = {{"a", "text \"\n"}, {"", ""}, {"\xc3\xbc", "{}"}};
  record.blocks = {{"a", {.first = 7, .count = 3, .first_round = 2}}};
  const absl::StatusOr<JobRecord> read =
      DecodeJobRecord(EncodeJobRecord(record));
  ASSERT_OK(read);
  EXPECT_EQ(*read, record);
}

TEST(JobRecordTest, WhatIsNoneIsRefused) {
  for (const char* text :
       {"", "[]", "{}", "{\"sequence\":1}",
        "{\"sequence\":1,\"parts\":{\"a\":1},\"blocks\":{}}",
        "{\"sequence\":1,\"parts\":{},\"blocks\":{\"a\":[1,2]}}"}) {
    EXPECT_THAT(DecodeJobRecord(text), StatusIs(absl::StatusCode::kDataLoss))
        << text;
  }
  // Steps begin with 1; a block must neither wrap nor need all memory.
  for (const char* block : {"[0,1,0]", "[1,0,0]", "[18446744073709551615,1,0]",
                            "[1,9999999999,0]"}) {
    EXPECT_THAT(DecodeJobRecord(std::string("{\"sequence\":1,\"parts\":{},") +
                                "\"blocks\":{\"a\":" + block + "}}"),
                StatusIs(absl::StatusCode::kDataLoss, HasSubstr("a block of")))
        << block;
  }
}

TEST(RecordKeeperTest, ARecordIsToldOnce) {
  RecordKeeper keeper;
  EXPECT_EQ(keeper.Next(3).record, "");
  EXPECT_EQ(keeper.Next(3).watermark, 3u);
  keeper.Set("a", "1");
  EXPECT_EQ(keeper.Find("a"), "1");
  const RecordKeeper::Notice notice = keeper.Next(4);
  EXPECT_EQ(notice.watermark, 4u);
  EXPECT_EQ(Decoded(notice).parts.at("a"), "1");
  // Until the servers were told.
  EXPECT_NE(keeper.Next(4).record, "");
  keeper.Told(notice);
  EXPECT_EQ(keeper.Next(5).record, "");
  EXPECT_EQ(keeper.Next(5).watermark, 5u);
  keeper.Erase("a");
  EXPECT_EQ(keeper.Find("a"), std::nullopt);
  EXPECT_FALSE(Decoded(keeper.Next(5)).parts.contains("a"));
}

TEST(RecordKeeperTest, WhenAllIsLostTheRecordIsEmptyAndNewer) {
  RecordKeeper keeper;
  keeper.Set("a", "1");
  keeper.OpenBlock("a", {.first = 1, .count = 5}, "2");
  const RecordKeeper::Notice before = keeper.Next(0);
  keeper.Told(before);
  keeper.Clear();
  EXPECT_EQ(keeper.Find("a"), std::nullopt);
  EXPECT_EQ(keeper.FindBlock("a"), std::nullopt);
  const RecordKeeper::Notice notice = keeper.Next(7);
  EXPECT_EQ(notice.watermark, 7u);
  EXPECT_GT(notice.sequence, before.sequence);
  EXPECT_TRUE(Decoded(notice).parts.empty());
  EXPECT_TRUE(Decoded(notice).blocks.empty());
}

TEST(RecordKeeperTest, WhatChangesWhileItIsToldIsToldNext) {
  RecordKeeper keeper;
  keeper.Set("a", "1");
  const RecordKeeper::Notice notice = keeper.Next(0);
  keeper.Set("a", "2");
  keeper.Told(notice);
  EXPECT_EQ(Decoded(keeper.Next(0)).parts.at("a"), "2");
}

TEST(RecordKeeperTest, AnOpenBlockHoldsTheWatermarkWhereTheRecordIs) {
  RecordKeeper keeper;
  const StepBlock block = {.first = 5, .count = 10};
  keeper.OpenBlock("fit", block, "at 0");
  EXPECT_EQ(keeper.FindBlock("fit"), block);
  RecordKeeper::Notice notice = keeper.Next(9);
  // Steps 5 to 9 have ended, but the record does not say so.
  EXPECT_EQ(notice.watermark, 4u);
  EXPECT_EQ(Decoded(notice).blocks.at("fit"), block);
  keeper.Told(notice);

  keeper.Account("fit", "at 7", 7);
  keeper.Account("fit", "at 12", 12);
  notice = keeper.Next(9);
  EXPECT_EQ(notice.watermark, 7u);
  EXPECT_EQ(Decoded(notice).parts.at("fit"), "at 7");
  keeper.Told(notice);
  // Not before step 12 has ended.
  notice = keeper.Next(11);
  EXPECT_EQ(notice.watermark, 7u);
  EXPECT_EQ(notice.record, "");
  notice = keeper.Next(12);
  EXPECT_EQ(notice.watermark, 12u);
  EXPECT_EQ(Decoded(notice).parts.at("fit"), "at 12");
  keeper.Told(notice);

  keeper.CloseBlock("fit", "at the end");
  EXPECT_EQ(keeper.FindBlock("fit"), std::nullopt);
  EXPECT_EQ(keeper.Next(13).watermark, 12u);
  notice = keeper.Next(14);
  EXPECT_EQ(notice.watermark, 14u);
  EXPECT_TRUE(Decoded(notice).blocks.empty());
  EXPECT_EQ(keeper.Next(20).watermark, 20u);
}

TEST(RecordKeeperTest, WithoutTheBlockNoStepOfItIsToldAsOver) {
  RecordKeeper keeper;
  keeper.OpenBlock("fit", {.first = 1, .count = 4}, "one");
  keeper.CloseBlock("fit", "one is done");
  // All of these wait for step 4, and there is no room for more.
  for (int i = 0; i < 20; ++i) keeper.Set("other", std::to_string(i));
  keeper.OpenBlock("fit", {.first = 5, .count = 100}, "two");
  // The version that opened the block is among those that are dropped.
  for (uint64_t step = 5; step < 60; ++step) {
    keeper.Account("fit", "two", step);
    keeper.Set("other", std::to_string(step));
  }
  for (uint64_t watermark = 0; watermark < 60; ++watermark) {
    const RecordKeeper::Notice notice = keeper.Next(watermark);
    const JobRecord record = Decoded(notice);
    if (notice.watermark >= 5) {
      EXPECT_TRUE(record.blocks.contains("fit")) << watermark;
    }
  }
}

TEST(RecordKeeperTest, LoadGoesOnWhereAnotherOneWas) {
  RecordKeeper first;
  first.OpenBlock("fit", {.first = 3, .count = 8}, "at 0");
  first.Account("fit", "at 5", 5);
  const RecordKeeper::Notice left = first.Next(6);
  ASSERT_EQ(left.watermark, 5u);

  RecordKeeper keeper;
  keeper.Load(Decoded(left), left.watermark);
  EXPECT_EQ(keeper.Find("fit"), "at 5");
  EXPECT_EQ(keeper.FindBlock("fit"), (StepBlock{.first = 3, .count = 8}));
  // Some server may have an older record.
  RecordKeeper::Notice notice = keeper.Next(9);
  EXPECT_EQ(notice.watermark, 5u);
  EXPECT_EQ(Decoded(notice), Decoded(left));
  keeper.Told(notice);
  keeper.Account("fit", "at 8", 8);
  notice = keeper.Next(9);
  EXPECT_EQ(notice.watermark, 8u);
  EXPECT_GT(notice.sequence, left.sequence);
}

TEST(RecordKeeperTest, ALoadedRecordWithoutBlocksHoldsNothing) {
  RecordKeeper keeper;
  JobRecord record;
  record.sequence = 9;
  record.parts = {{"a", "1"}};
  keeper.Load(record, 40);
  EXPECT_EQ(keeper.Next(50).watermark, 50u);
  EXPECT_EQ(keeper.parts().at("a"), "1");
}

TEST(RecordKeeperTest, PartsThatWereNotSetForLongAreCutToTheirSpares) {
  RecordKeeper keeper;
  // As escaped text, each takes twice as much.
  const std::string large(100'000, '"');
  const auto name = [](int i) { return "model " + std::to_string(i); };
  for (int i = 0; i < 20; ++i) {
    const PartText part(large, "spare " + std::to_string(i));
    ASSERT_OK(keeper.CheckRoom({{name(i), part}}));
    keeper.Set(name(i), part);
    const RecordKeeper::Notice notice = keeper.Next(0);
    ASSERT_LE(notice.record.size(), kMaxRecordBytes);
    const JobRecord told = Decoded(notice);
    ASSERT_EQ(told.parts.size(), static_cast<size_t>(i) + 1);
    EXPECT_EQ(told.parts.at(name(i)), large);
    if (i >= 5) {
      EXPECT_EQ(told.parts.at(name(i - 5)), "spare " + std::to_string(i - 5));
    }
    keeper.Told(notice);
  }
  // Nothing is lost here: checkpoints get the full text.
  EXPECT_EQ(keeper.Find(name(0)), large);
  // A part that is set again has precedence over the others.
  keeper.OpenBlock(name(0), {.first = 1, .count = 9}, {large, "spare"});
  EXPECT_EQ(Decoded(keeper.Next(0)).parts.at(name(0)), large);
}

TEST(RecordKeeperTest, WhatCannotFitIsRefused) {
  RecordKeeper keeper;
  const std::map<std::string, PartText> large = {
      {"a", PartText(std::string(kMaxRecordBytes / 2, 'x'))}};
  EXPECT_OK(keeper.CheckRoom(large));
  keeper.SetAll(large);
  // In place of "a", and beside it.
  EXPECT_OK(keeper.CheckRoom(large));
  EXPECT_THAT(keeper.CheckRoom({{"b", large.at("a")}}),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       HasSubstr("1 other records")));
  EXPECT_OK(keeper.CheckRoom({{"b", PartText(large.at("a").text, "")}}));
  keeper.Erase("a");
  EXPECT_OK(keeper.CheckRoom({{"b", large.at("a")}}));
  // A text that takes more room than its length.
  EXPECT_THAT(keeper.CheckRoom(
                  {{"b", PartText(std::string(kMaxRecordBytes / 2, '"'))}}),
              StatusIs(absl::StatusCode::kResourceExhausted));
}

// The record contains exactly what a coordinator that takes over needs:
// whenever the previous one is killed, each step of the part either counts in
// the record or is run again, never both.
RC_GTEST_PROP(RecordKeeperTest, EachStepIsCountedOrRunAgain, ()) {
  RecordKeeper keeper;
  uint64_t last = 0;   // highest step with a number
  uint64_t over = 0;   // all steps up to this have ended
  uint64_t taken = 0;  // of the block: the part has counted them
  std::optional<StepBlock> block;
  const int actions = *rc::gen::inRange(1, 200);
  uint64_t told = 0;
  JobRecord on_servers;
  const auto counted = [&] { return "up to " + std::to_string(taken); };
  for (int i = 0; i < actions; ++i) {
    switch (*rc::gen::inRange(0, 6)) {
      case 0:
        if (block) break;
        block = StepBlock{.first = last + 1,
                          .count = *rc::gen::inRange<uint64_t>(1, 20)};
        last = block->end() - 1;
        over = block->first - 1;
        taken = over;
        keeper.OpenBlock("part", *block, counted());
        // As Fit does before the first of these steps begins.
        {
          const RecordKeeper::Notice notice = keeper.Next(over);
          told = std::max(told, notice.watermark);
          if (!notice.record.empty()) on_servers = Decoded(notice);
          keeper.Told(notice);
        }
        break;
      case 1:
        // Results are known, or can be, before all steps have ended.
        if (block && taken < last) ++taken;
        break;
      case 2:
        if (block) keeper.Account("part", counted(), taken);
        break;
      case 3:
        over = std::min(last, over + *rc::gen::inRange<uint64_t>(1, 5));
        break;
      case 4:
        if (!block || over < last) break;
        taken = last;
        block.reset();
        keeper.CloseBlock("part", counted());
        break;
      default:
        keeper.Set("other", std::to_string(i));
    }
    if (*rc::gen::arbitrary<bool>()) continue;
    const RecordKeeper::Notice notice = keeper.Next(over);
    RC_ASSERT(notice.watermark <= over);
    told = std::max(told, notice.watermark);
    if (!notice.record.empty()) {
      const JobRecord record = Decoded(notice);
      RC_ASSERT(record.sequence > on_servers.sequence);
      on_servers = record;
    }
    keeper.Told(notice);
    if (!on_servers.parts.contains("part")) continue;
    const uint64_t accounts =
        std::stoull(on_servers.parts.at("part").substr(6));
    const auto found = on_servers.blocks.find("part");
    // What is counted has ended; in a block, what has ended is counted.
    RC_ASSERT(accounts <= over);
    if (found != on_servers.blocks.end()) {
      RC_ASSERT(told <= accounts);
    } else if (block) {
      RC_ASSERT(told < block->first);
    }
  }
}

}  // namespace
}  // namespace capstan
