#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "capstan/dataset.h"
#include "dataset/thrown_test.h"

namespace capstan {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::UnorderedElementsAreArray;

// The ranges up to the end of an epoch, each reported done at once.
std::vector<DataRange> ReadEpoch(DataRanges& ranges) {
  std::vector<DataRange> read;
  while (std::optional<DataTicket> ticket = ranges.Next()) {
    read.push_back(ticket->range());
    ticket->Done();
  }
  return read;
}

std::vector<int64_t> Begins(const std::vector<DataRange>& ranges) {
  std::vector<int64_t> begins;
  for (const DataRange& range : ranges) begins.push_back(range.begin);
  return begins;
}

TEST(DataRangesTest, AnEpochIsTheInputInOrder) {
  DataRanges ranges({.examples = 10, .batch = 4});
  EXPECT_EQ(ranges.steps_per_epoch(), 3u);
  EXPECT_THAT(ReadEpoch(ranges),
              ElementsAre(DataRange{0, 4, 0, 0}, DataRange{4, 8, 0, 1},
                          DataRange{8, 10, 0, 2}));
  EXPECT_THAT(ReadEpoch(ranges),
              ElementsAre(DataRange{0, 4, 1, 0}, DataRange{4, 8, 1, 1},
                          DataRange{8, 10, 1, 2}));
}

TEST(DataRangesTest, TheRemainderCanBeLeftOut) {
  DataRanges ranges({.examples = 10, .batch = 4, .drop_remainder = true});
  EXPECT_EQ(ranges.steps_per_epoch(), 2u);
  EXPECT_THAT(Begins(ReadEpoch(ranges)), ElementsAre(0, 4));
}

TEST(DataRangesTest, TheEpochCountsTheAnnouncedEnds) {
  DataRanges ranges({.examples = 1});
  EXPECT_EQ(ranges.epoch(), 0u);
  ranges.Next()->Done();
  EXPECT_EQ(ranges.epoch(), 0u);
  EXPECT_FALSE(ranges.Next().has_value());
  EXPECT_EQ(ranges.epoch(), 1u);
  EXPECT_EQ(ranges.Next()->range().epoch, 1u);
}

TEST(DataRangesTest, EveryEpochOfAnEmptyInputEndsAtOnce) {
  DataRanges ranges({.examples = 0});
  EXPECT_EQ(ranges.steps_per_epoch(), 0u);
  EXPECT_FALSE(ranges.Next().has_value());
  EXPECT_FALSE(ranges.Next().has_value());
  EXPECT_EQ(ranges.epoch(), 2u);
  DataRanges restored({.examples = 0});
  restored.Restore(ranges.Save());
  EXPECT_EQ(restored.epoch(), 2u);
  EXPECT_FALSE(restored.Next().has_value());
}

TEST(DataRangesTest, ShuffleGivesEachEpochAnOrderOfItsOwn) {
  const DataRangesOptions options{
      .examples = 1000, .batch = 10, .shuffle = true, .seed = 7};
  DataRanges ranges(options);
  const std::vector<DataRange> first = ReadEpoch(ranges);
  const std::vector<DataRange> second = ReadEpoch(ranges);
  std::set<int64_t> begins;
  for (uint64_t i = 0; i < first.size(); ++i) {
    EXPECT_EQ(first[i].index, i);
    begins.insert(first[i].begin);
  }
  EXPECT_EQ(begins.size(), 100u);
  EXPECT_NE(Begins(first), Begins(second));
  EXPECT_THAT(Begins(second), UnorderedElementsAreArray(begins));

  DataRanges again(options);
  EXPECT_EQ(ReadEpoch(again), first);
  DataRangesOptions other = options;
  other.seed = 8;
  DataRanges others(other);
  EXPECT_NE(ReadEpoch(others), first);
}

TEST(DataRangesTest, ManyRangesCostNothing) {
  DataRanges ranges({.examples = INT64_MAX, .shuffle = true});
  EXPECT_EQ(ranges.steps_per_epoch(), uint64_t{INT64_MAX});
  EXPECT_EQ(ranges.Next()->range().size(), 1);
}

TEST(DataRangesTest, ATicketThatIsDroppedComesBack) {
  DataRanges ranges({.examples = 6, .batch = 2});
  std::optional<DataTicket> first = ranges.Next();
  std::optional<DataTicket> second = ranges.Next();
  EXPECT_EQ(ranges.outstanding(), 2u);
  const DataRange lost = first->range();
  first.reset();
  EXPECT_EQ(ranges.outstanding(), 1u);
  EXPECT_EQ(ranges.Next()->range(), lost);  // and dropped again
  EXPECT_THAT(Begins(ReadEpoch(ranges)), ElementsAre(0, 4));
  second->Done();
  EXPECT_EQ(ranges.outstanding(), 0u);
}

TEST(DataRangesTest, WhatComesBackIsHandedOutInOrder) {
  DataRanges ranges({.examples = 4});
  std::vector<DataTicket> tickets;
  for (int i = 0; i < 3; ++i) tickets.push_back(*ranges.Next());
  std::swap(tickets[0], tickets[2]);
  tickets.clear();
  EXPECT_THAT(Begins(ReadEpoch(ranges)), ElementsAre(0, 1, 2, 3));
}

TEST(DataRangesTest, ATicketMayComeBackAfterTheEndOfItsEpoch) {
  DataRanges ranges({.examples = 4, .batch = 2});
  ranges.Next()->Done();
  std::optional<DataTicket> late = ranges.Next();
  EXPECT_FALSE(ranges.Next().has_value());
  EXPECT_EQ(ranges.outstanding(), 1u);
  ranges.Next()->Done();  // of the next epoch
  late.reset();
  EXPECT_THAT(ReadEpoch(ranges),
              ElementsAre(DataRange{2, 4, 0, 1}, DataRange{2, 4, 1, 1}));
  EXPECT_EQ(ranges.epoch(), 2u);
}

TEST(DataTicketTest, DoneIsDoneOnce) {
  DataRanges ranges({.examples = 2});
  std::optional<DataTicket> ticket = ranges.Next();
  ticket->Done();
  ticket->Done();
  EXPECT_EQ(ticket->range(), (DataRange{0, 1, 0, 0}));
  ticket.reset();
  EXPECT_EQ(ranges.outstanding(), 0u);
  EXPECT_EQ(ranges.Next()->range().begin, 1);
}

TEST(DataTicketTest, IsOnlyMoved) {
  static_assert(!std::is_copy_constructible_v<DataTicket>);
  static_assert(!std::is_copy_assignable_v<DataTicket>);
  static_assert(std::is_nothrow_move_constructible_v<DataTicket>);
  static_assert(std::is_nothrow_move_assignable_v<DataTicket>);
}

TEST(DataTicketTest, AMovedOneIsNobodys) {
  DataRanges ranges({.examples = 2});
  std::optional<DataTicket> from = ranges.Next();
  DataTicket to = *std::move(from);
  from->Done();  // NOLINT(bugprone-use-after-move): it has no effect
  from.reset();
  EXPECT_EQ(ranges.outstanding(), 1u);
  to.Done();
  EXPECT_EQ(ranges.outstanding(), 0u);
}

TEST(DataTicketTest, AssigningGivesBackWhatWasThere) {
  DataRanges ranges({.examples = 2});
  DataTicket first = *ranges.Next();
  first = *ranges.Next();
  EXPECT_EQ(first.range().begin, 1);
  EXPECT_EQ(ranges.outstanding(), 1u);
  EXPECT_EQ(ranges.Next()->range().begin, 0);
  DataTicket& same = first;
  first = std::move(same);
  EXPECT_EQ(ranges.outstanding(), 1u);
}

TEST(DataTicketTest, MayOutliveItsRanges) {
  auto ranges = std::make_unique<DataRanges>(DataRangesOptions{.examples = 2});
  DataTicket done = *ranges->Next();
  const DataTicket dropped = *ranges->Next();
  ranges.reset();
  done.Done();
  EXPECT_EQ(dropped.range().begin, 1);
}

TEST(DataRangesTest, MovesTakeTheTicketsAlong) {
  DataRanges from({.examples = 2});
  std::optional<DataTicket> ticket = from.Next();
  DataRanges to = std::move(from);
  EXPECT_EQ(to.outstanding(), 1u);
  ticket.reset();
  EXPECT_EQ(to.Next()->range().begin, 0);
  static_assert(!std::is_copy_constructible_v<DataRanges>);
  static_assert(std::is_nothrow_move_assignable_v<DataRanges>);
}

TEST(DataRangesTest, ThePositionSaysWhatIsNotDone) {
  DataRanges ranges({.examples = 6, .batch = 2, .shuffle = true, .seed = 7});
  EXPECT_EQ(ranges.Save(),
            "capstan-ranges 1 examples=6 batch=2 seed=7 shuffle=1 drop=0 "
            "epoch=0 next=0 open=");
  ranges.Next()->Done();
  std::optional<DataTicket> out = ranges.Next();
  std::optional<DataTicket> back = ranges.Next();
  back.reset();
  EXPECT_THAT(ranges.Save(), EndsWith(" epoch=0 next=3 open=0:1,0:2"));
  ranges.Next()->Done();
  EXPECT_FALSE(ranges.Next().has_value());
  EXPECT_THAT(ranges.Save(), EndsWith(" epoch=1 next=0 open=0:1"));
  out->Done();
  EXPECT_THAT(ranges.Save(), EndsWith(" epoch=1 next=0 open="));
}

TEST(DataRangesTest, ARestoredOneHandsOutWhatWasNotDone) {
  const DataRangesOptions options{
      .examples = 100, .batch = 3, .shuffle = true, .seed = 1};
  DataRanges ranges(options);
  std::vector<DataRange> expected;
  std::vector<DataTicket> out;
  for (int i = 0; i < 20; ++i) {
    DataTicket ticket = *ranges.Next();
    if (i % 5 != 0) {
      ticket.Done();
    } else {
      expected.push_back(ticket.range());
      out.push_back(std::move(ticket));
    }
  }
  const std::string position = ranges.Save();
  for (const DataRange& range : ReadEpoch(ranges)) expected.push_back(range);

  DataRanges restored(options);
  restored.Restore(position);
  EXPECT_EQ(restored.outstanding(), 0u);
  EXPECT_EQ(restored.Save(), position);
  EXPECT_EQ(ReadEpoch(restored), expected);
}

TEST(DataRangesTest, AnEndIsAnnouncedOnceAlsoAcrossARestore) {
  DataRanges ranges({.examples = 1});
  ranges.Next()->Done();
  const std::string before = ranges.Save();
  EXPECT_FALSE(ranges.Next().has_value());
  const std::string after = ranges.Save();
  ranges.Restore(before);
  EXPECT_FALSE(ranges.Next().has_value());
  ranges.Restore(after);
  EXPECT_TRUE(ranges.Next().has_value());
}

TEST(DataRangesTest, TicketsFromBeforeARestoreHaveNoEffect) {
  DataRanges ranges({.examples = 3});
  std::optional<DataTicket> done = ranges.Next();
  std::optional<DataTicket> dropped = ranges.Next();
  ranges.Restore(ranges.Save());
  EXPECT_EQ(ranges.outstanding(), 0u);
  std::optional<DataTicket> first = ranges.Next();
  std::optional<DataTicket> second = ranges.Next();
  EXPECT_EQ(first->range(), done->range());
  EXPECT_EQ(second->range(), dropped->range());
  done->Done();
  dropped.reset();
  EXPECT_EQ(ranges.outstanding(), 2u);
  EXPECT_EQ(ranges.Next()->range().begin, 2);
}

TEST(DataRangesTest, OptionsThatMakeNoRangesThrow) {
  EXPECT_EQ(Thrown([] { DataRanges ranges({.examples = -1}); }),
            "DataRanges: examples is -1; it must be at least 0 "
            "(InvalidArgument)");
  EXPECT_EQ(Thrown([] { DataRanges ranges({.examples = 5, .batch = 0}); }),
            "DataRanges: batch is 0; it must be at least 1 "
            "(InvalidArgument)");
}

TEST(DataRangesTest, TheWrongPositionThrowsAndChangesNothing) {
  DataRanges ranges({.examples = 10, .batch = 5, .seed = 3});
  ranges.Next()->Done();
  const std::optional<DataTicket> out = ranges.Next();
  const std::string before = ranges.Save();
  EXPECT_EQ(Thrown([&] { ranges.Restore("checkpoint-12"); }),
            "not a position of DataRanges: \"checkpoint-12\" does not begin "
            "with \"capstan-ranges\" (InvalidArgument)");
  EXPECT_EQ(
      Thrown([&] {
        ranges.Restore(
            "capstan-ranges 1 examples=10 batch=5 seed=3 shuffle=0 drop=0 "
            "epoch=0 next=3 open=");
      }),
      "not a position of DataRanges: next is 3, but an epoch has 2 ranges "
      "(InvalidArgument)");
  const DataRanges other({.examples = 10, .batch = 2, .shuffle = true});
  EXPECT_EQ(Thrown([&] { ranges.Restore(other.Save()); }),
            "the position is of other data: it has examples=10 batch=2 seed=0 "
            "shuffle=1 drop=0, and this DataRanges has examples=10 batch=5 "
            "seed=3 shuffle=0 drop=0 (FailedPrecondition)");
  EXPECT_EQ(ranges.Save(), before);
  EXPECT_EQ(ranges.outstanding(), 1u);
}

TEST(DataRangesTest, EachOptionIsPartOfThePosition) {
  const DataRangesOptions options{.examples = 10, .batch = 5};
  DataRanges ranges(options);
  std::vector<DataRangesOptions> others(5, options);
  others[0].examples = 11;
  others[1].batch = 10;
  others[2].seed = 1;
  others[3].shuffle = true;
  others[4].drop_remainder = true;
  for (const DataRangesOptions& other : others) {
    EXPECT_THAT(Thrown([&] { ranges.Restore(DataRanges(other).Save()); }),
                EndsWith("(FailedPrecondition)"));
  }
}

}  // namespace
}  // namespace capstan
