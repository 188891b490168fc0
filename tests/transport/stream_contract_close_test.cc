// The contract of Stream: how connections end.
#include <asio/post.hpp>
#include <asio/use_future.hpp>
#include <utility>

#include "testing/pattern.h"
#include "testing/status_matchers.h"
#include "testing/stream_contract.h"

namespace capstan::testing {
namespace {

using absl::StatusCode::kAborted;
using absl::StatusCode::kUnavailable;
using ::testing::AnyOf;

// A write that waited may still find room before the test ends it; the round is
// then played again.
constexpr int kRounds = 20;

bool Waited(const absl::StatusOr<size_t>& written) {
  return !written.ok() || *written == 0;
}

TEST_P(StreamContract, CloseEndsItsOwnOperations) {
  for (const Side side : kBothSides) {
    bool waited = false;
    for (int round = 0; round < kRounds && !waited; ++round) {
      Connect();
      FillUp(side, 1);
      std::vector<std::byte> room(10);
      const std::vector<std::byte> more = Pattern(2, 1'000'000);
      std::future<Count> reading = StartRead(side, room);
      std::future<Count> writing = StartWriteThatWaits(side, more);
      Close(side);
      EXPECT_THAT(Await(std::move(reading)), StatusIs(kUnavailable));
      const Count written = Await(std::move(writing));
      waited = Waited(written);
      if (waited) {
        EXPECT_THAT(written, StatusIs(kUnavailable));
      }
      for (const Side end : kBothSides) Destroy(end);
    }
    EXPECT_TRUE(waited) << "no write was under way";
  }
}

TEST_P(StreamContract, OperationsAfterCloseAreUnavailable) {
  Connect();
  std::vector<std::byte> bytes(10);
  for (const Side side : kBothSides) {
    Close(side);
    EXPECT_THAT(Await(StartRead(side, bytes)), StatusIs(kUnavailable));
    EXPECT_THAT(Await(StartWrite(side, Bytes(bytes))), StatusIs(kUnavailable));
    Close(side);
    Interrupt(side);
    EXPECT_THAT(Await(StartRead(side, bytes)), StatusIs(kUnavailable));
  }
}

TEST_P(StreamContract, PeersCloseEndsRead) {
  for (const Side side : kBothSides) {
    Connect();
    std::vector<std::byte> room(10);
    std::future<Count> reading = StartRead(side, room);
    Close(OtherSide(side));
    EXPECT_THAT(Await(std::move(reading)), StatusIs(kUnavailable));
    EXPECT_THAT(Await(StartRead(side, room)), StatusIs(kUnavailable));
    for (const Side end : kBothSides) Destroy(end);
  }
}

TEST_P(StreamContract, WhatWasWrittenBeforeCloseArrives) {
  for (const Side side : kBothSides) {
    Connect();
    const std::vector<std::byte> sent = Pattern(3, 5'000);
    WriteAll(side, sent);
    Close(side);
    std::vector<std::byte> received(sent.size());
    ReadAll(OtherSide(side), received);
    EXPECT_EQ(received, sent);
    EXPECT_THAT(Await(StartRead(OtherSide(side), received)),
                StatusIs(kUnavailable));
    for (const Side end : kBothSides) Destroy(end);
  }
}

TEST_P(StreamContract, WhatWasWrittenBeforeDestructionArrives) {
  for (const Side side : kBothSides) {
    Connect();
    const std::vector<std::byte> sent = Pattern(4, 5'000);
    WriteAll(side, sent);
    Destroy(side);
    std::vector<std::byte> received(sent.size());
    ReadAll(OtherSide(side), received);
    EXPECT_EQ(received, sent);
    EXPECT_THAT(Await(StartRead(OtherSide(side), received)),
                StatusIs(kUnavailable));
    Destroy(OtherSide(side));
  }
}

// As much as the stream takes, with nobody reading before the close.
TEST_P(StreamContract, MuchWrittenBeforeCloseArrives) {
  for (const Side side : kBothSides) {
    Connect();
    const size_t taken = FillUp(side, 5);
    Close(side);
    std::vector<std::byte> received(taken);
    ReadAll(OtherSide(side), received);
    EXPECT_TRUE(IsPattern(5, received));
    for (const Side end : kBothSides) Destroy(end);
  }
}

TEST_P(StreamContract, UnreadInputDoesNotHarmWhatWasWritten) {
  for (const Side side : kBothSides) {
    Connect();
    const std::vector<std::byte> unread = Pattern(6, 5'000);
    WriteAll(OtherSide(side), unread);
    const std::vector<std::byte> sent = Pattern(7, 5'000);
    WriteAll(side, sent);
    Close(side);
    std::vector<std::byte> received(sent.size());
    ReadAll(OtherSide(side), received);
    EXPECT_EQ(received, sent);
    for (const Side end : kBothSides) Destroy(end);
  }
}

TEST_P(StreamContract, PeersCloseEndsWrite) {
  for (const Side side : kBothSides) {
    Connect();
    FillUp(side, 6);
    const std::vector<std::byte> more = Pattern(7, 1'000'000);
    std::future<absl::Status> writing = StartWriteAll(side, more);
    Settle(side);
    Close(OtherSide(side));
    EXPECT_THAT(world().Await(std::move(writing)), StatusIs(kUnavailable));
    for (const Side end : kBothSides) Destroy(end);
  }
}

TEST_P(StreamContract, BothCloseAtOnce) {
  Connect();
  std::vector<std::byte> room(10);
  std::future<Count> server = StartRead(Side::kServer, room);
  std::vector<std::byte> more_room(10);
  std::future<Count> client = StartRead(Side::kClient, more_room);
  std::future<void> closing =
      asio::post(executor(Side::kServer),
                 asio::use_future([this] { stream(Side::kServer).Close(); }));
  Close(Side::kClient);
  world().Await(std::move(closing));
  EXPECT_THAT(Await(std::move(server)), StatusIs(kUnavailable));
  EXPECT_THAT(Await(std::move(client)), StatusIs(kUnavailable));
}

TEST_P(StreamContract, DestructionEndsItsOwnOperations) {
  for (const Side side : kBothSides) {
    bool waited = false;
    for (int round = 0; round < kRounds && !waited; ++round) {
      Connect();
      FillUp(side, 8);
      std::vector<std::byte> room(10);
      std::vector<std::byte> more = Pattern(9, 1'000'000);
      std::future<Count> reading = StartRead(side, room);
      std::future<Count> writing = StartWriteThatWaits(side, more);
      Destroy(side);
      const auto ended = AnyOf(StatusIs(kUnavailable), StatusIs(kAborted));
      EXPECT_THAT(Await(std::move(reading)), ended);
      const Count written = Await(std::move(writing));
      waited = Waited(written);
      if (waited) {
        EXPECT_THAT(written, ended);
      }
      Destroy(OtherSide(side));
    }
    EXPECT_TRUE(waited) << "no write was under way";
  }
}

TEST_P(StreamContract, DestructionEndsThePeersOperations) {
  for (const Side side : kBothSides) {
    Connect();
    FillUp(side, 10);
    std::vector<std::byte> room(10);
    const std::vector<std::byte> more = Pattern(11, 1'000'000);
    std::future<Count> reading = StartRead(side, room);
    std::future<absl::Status> writing = StartWriteAll(side, more);
    Settle(side);
    Destroy(OtherSide(side));
    EXPECT_THAT(Await(std::move(reading)), StatusIs(kUnavailable));
    EXPECT_THAT(world().Await(std::move(writing)), StatusIs(kUnavailable));
    Destroy(side);
  }
}

// Closes in the middle of a transfer, at many places.
TEST_P(StreamContract, CloseAtAnyMomentIsSafe) {
  for (size_t moment = 1; moment < 60; moment += 4) {
    Connect();
    const std::vector<std::byte> bytes = Pattern(12, 400'000);
    std::vector<std::byte> received[2] = {std::vector<std::byte>(bytes.size()),
                                          std::vector<std::byte>(bytes.size())};
    std::future<absl::Status> writing[] = {StartWriteAll(Side::kServer, bytes),
                                           StartWriteAll(Side::kClient, bytes)};
    std::future<absl::Status> reading[] = {
        StartReadAll(Side::kServer, received[0]),
        StartReadAll(Side::kClient, received[1])};
    for (size_t turn = 0; turn < moment; ++turn) Settle(Side::kServer);
    const Side side = moment % 8 == 1 ? Side::kServer : Side::kClient;
    if (moment % 16 < 8) {
      Close(side);
    } else {
      Destroy(side);
    }
    // They end, one way or the other.
    for (std::future<absl::Status>& end : writing) {
      EXPECT_THAT(world().Await(std::move(end)),
                  AnyOf(IsOk(), StatusIs(kUnavailable)));
    }
    for (std::future<absl::Status>& end : reading) {
      EXPECT_THAT(world().Await(std::move(end)),
                  AnyOf(IsOk(), StatusIs(kUnavailable)));
    }
    for (const Side end : kBothSides) Destroy(end);
  }
}

}  // namespace
}  // namespace capstan::testing
