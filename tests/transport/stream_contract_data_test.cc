// The contract of Stream: bytes arrive whole, once and in order.
#include <algorithm>
#include <numeric>
#include <utility>

#include "testing/pattern.h"
#include "testing/status_matchers.h"
#include "testing/stream_contract.h"

namespace capstan::testing {
namespace {

using ::testing::AllOf;
using ::testing::Ge;
using ::testing::Le;

TEST_P(StreamContract, BytesArriveInOrderBothWays) {
  Connect();
  for (const Side side : kBothSides) {
    for (const size_t size : {1, 2, 100, 4'095, 16'384, 16'385, 100'000}) {
      const std::vector<std::byte> sent = Pattern(size, size);
      std::vector<std::byte> received(size);
      std::future<absl::Status> writing = StartWriteAll(side, sent);
      ReadAll(OtherSide(side), received);
      EXPECT_OK(world().Await(std::move(writing)));
      EXPECT_EQ(received, sent) << size << " bytes";
    }
  }
}

TEST_P(StreamContract, ViewsAreUsedInOrder) {
  Connect();
  const std::vector<std::byte> sent = Pattern(1, 50'000);
  // Pieces of 0, 1, 2, ... bytes, the rest in the last.
  std::vector<Bytes> from;
  Bytes left = sent;
  for (size_t i = 0; i + 1 < kMaxViews; ++i) {
    from.push_back(left.first(i));
    left = left.subspan(i);
  }
  from.push_back(left);
  std::future<Count> writing = StartWrite(Side::kClient, from);

  std::vector<std::byte> received(sent.size());
  std::vector<MutableBytes> into;
  MutableBytes room = received;
  for (size_t i = 0; i + 1 < kMaxViews; ++i) {
    into.push_back(room.first((i * 7) % 50));
    room = room.subspan((i * 7) % 50);
  }
  into.push_back(room);
  const Count read = Await(StartRead(Side::kServer, into));
  const Count written = Await(std::move(writing));
  ASSERT_OK(read);
  ASSERT_OK(written);
  EXPECT_GE(*read, 1u);
  EXPECT_GE(*written, *read);
  EXPECT_TRUE(IsPattern(1, Bytes(received).first(*read)));
  const MutableBytes rest = MutableBytes(received).subspan(*read);
  ReadAll(Side::kServer, rest.first(*written - *read));
  EXPECT_TRUE(IsPattern(1, Bytes(received).first(*written)));
}

TEST_P(StreamContract, ViewsBeyondTheMaximumAreIgnored) {
  Connect();
  const std::vector<std::byte> sent = Pattern(2, 3 * kMaxViews);
  std::vector<Bytes> from;
  for (size_t i = 0; i < sent.size(); ++i) {
    from.push_back(Bytes(sent).subspan(i, 1));
  }
  const Count written = Await(StartWrite(Side::kServer, from));
  EXPECT_THAT(written, IsOkAndHolds(AllOf(Ge(1u), Le(kMaxViews))));
  WriteAll(Side::kServer, Bytes(sent).subspan(*written));

  std::vector<std::byte> received(sent.size());
  std::vector<MutableBytes> into;
  for (size_t i = 0; i < received.size(); ++i) {
    into.push_back(MutableBytes(received).subspan(i, 1));
  }
  const Count read = Await(StartRead(Side::kClient, into));
  EXPECT_THAT(read, IsOkAndHolds(AllOf(Ge(1u), Le(kMaxViews))));
  ReadAll(Side::kClient, MutableBytes(received).subspan(*read));
  EXPECT_EQ(received, sent);
}

TEST_P(StreamContract, EmptyViewsAreSkipped) {
  Connect();
  const std::vector<std::byte> sent = Pattern(3, 10);
  const Bytes all = sent;
  const std::vector<Bytes> from = {Bytes(), all.first(4),   Bytes(),
                                   Bytes(), all.subspan(4), Bytes()};
  const Count written = Await(StartWrite(Side::kClient, from));
  ASSERT_OK(written);
  WriteAll(Side::kClient, all.subspan(*written));
  std::vector<std::byte> received(sent.size());
  const MutableBytes room = received;
  const std::vector<MutableBytes> into = {MutableBytes(), MutableBytes(),
                                          room.first(1), MutableBytes(),
                                          room.subspan(1)};
  const Count read = Await(StartRead(Side::kServer, into));
  ASSERT_OK(read);
  ReadAll(Side::kServer, room.subspan(*read));
  EXPECT_EQ(received, sent);
}

TEST_P(StreamContract, NothingToMoveReturnsZeroAtOnce) {
  Connect();
  for (const Side side : kBothSides) {
    EXPECT_THAT(Await(StartRead(side, std::span<const MutableBytes>())),
                IsOkAndHolds(0u));
    EXPECT_THAT(Await(StartRead(side, MutableBytes())), IsOkAndHolds(0u));
    EXPECT_THAT(Await(StartWrite(side, std::span<const Bytes>())),
                IsOkAndHolds(0u));
    EXPECT_THAT(Await(StartWrite(side, Bytes())), IsOkAndHolds(0u));
  }
}

TEST_P(StreamContract, SingleBytes) {
  Connect();
  const std::vector<std::byte> sent = Pattern(4, 2'000);
  std::future<absl::Status> writing = StartWriteAll(Side::kClient, sent);
  for (size_t i = 0; i < sent.size() / 2; ++i) {
    std::byte received{};
    ReadAll(Side::kServer, MutableBytes(&received, 1));
    ASSERT_EQ(received, sent[i]) << i;
  }
  EXPECT_OK(world().Await(std::move(writing)));
  std::vector<std::byte> rest(sent.size() / 2);
  ReadAll(Side::kServer, rest);
  EXPECT_TRUE(std::equal(rest.begin(), rest.end(),
                         sent.begin() + static_cast<ptrdiff_t>(rest.size())));

  std::vector<std::byte> received(sent.size());
  std::future<absl::Status> reading = StartReadAll(Side::kClient, received);
  for (const std::byte& byte : sent) {
    WriteAll(Side::kServer, Bytes(&byte, 1));
  }
  EXPECT_OK(world().Await(std::move(reading)));
  EXPECT_EQ(received, sent);
}

TEST_P(StreamContract, ReadReturnsWhatIsThere) {
  Connect();
  const std::vector<std::byte> sent = Pattern(5, 10);
  std::vector<std::byte> received(1 << 20);
  std::future<Count> reading = StartRead(Side::kServer, received);
  WriteAll(Side::kClient, sent);
  const Count count = Await(std::move(reading));
  ASSERT_OK(count);
  EXPECT_THAT(*count, AllOf(Ge(1u), Le(sent.size())));
  EXPECT_TRUE(IsPattern(5, Bytes(received).first(*count)));
}

TEST_P(StreamContract, SmallWritesNeedNoReader) {
  Connect();
  const std::vector<std::byte> sent = Pattern(6, 4'096);
  WriteAll(Side::kClient, sent);
  WriteAll(Side::kServer, sent);
  for (const Side side : kBothSides) {
    std::vector<std::byte> received(sent.size());
    ReadAll(side, received);
    EXPECT_EQ(received, sent);
  }
}

TEST_P(StreamContract, MuchBothWaysAtOnce) {
  constexpr size_t kSize = 9'999'999;
  Connect();
  const std::vector<std::byte> up = Pattern(7, kSize);
  const std::vector<std::byte> down = Pattern(8, kSize);
  std::vector<std::byte> up_received(kSize);
  std::vector<std::byte> down_received(kSize);
  std::future<absl::Status> operations[] = {
      StartWriteAll(Side::kClient, up), StartWriteAll(Side::kServer, down),
      StartReadAll(Side::kServer, up_received),
      StartReadAll(Side::kClient, down_received)};
  for (std::future<absl::Status>& operation : operations) {
    EXPECT_OK(world().Await(std::move(operation)));
  }
  EXPECT_TRUE(up_received == up);
  EXPECT_TRUE(down_received == down);
}

TEST_P(StreamContract, WriterWaitsForReader) {
  Connect();
  for (const Side side : kBothSides) {
    const size_t taken = FillUp(side, 9);
    std::vector<std::byte> received(taken);
    ReadAll(OtherSide(side), received);
    EXPECT_TRUE(IsPattern(9, received));
    // And goes on afterwards.
    const std::vector<std::byte> more = Pattern(10, 100);
    std::vector<std::byte> more_received(more.size());
    std::future<absl::Status> writing = StartWriteAll(side, more);
    ReadAll(OtherSide(side), more_received);
    EXPECT_OK(world().Await(std::move(writing)));
    EXPECT_EQ(more_received, more);
  }
}

TEST_P(StreamContract, FullOneWayDoesNotBlockTheOther) {
  Connect();
  const size_t taken = FillUp(Side::kClient, 11);
  const std::vector<std::byte> blocked = Pattern(12, 1'000'000);
  std::future<absl::Status> writing = StartWriteAll(Side::kClient, blocked);
  const std::vector<std::byte> answer = Pattern(13, 1'000'000);
  std::future<absl::Status> answering = StartWriteAll(Side::kServer, answer);
  std::vector<std::byte> received(answer.size());
  ReadAll(Side::kClient, received);
  EXPECT_OK(world().Await(std::move(answering)));
  EXPECT_TRUE(received == answer);
  std::vector<std::byte> filled(taken);
  ReadAll(Side::kServer, filled);
  EXPECT_TRUE(IsPattern(11, filled));
  ReadAll(Side::kServer, received);
  EXPECT_OK(world().Await(std::move(writing)));
  EXPECT_TRUE(received == blocked);
}

}  // namespace
}  // namespace capstan::testing
