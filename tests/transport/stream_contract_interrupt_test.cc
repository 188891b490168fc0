// The contract of Stream::Interrupt: operations return soon, no byte is lost,
// and memory is left alone once they have returned.
#include <algorithm>
#include <asio/post.hpp>
#include <asio/use_awaitable.hpp>
#include <utility>

#include "base/async/run_on.h"
#include "testing/pattern.h"
#include "testing/status_matchers.h"
#include "testing/stream_contract.h"

namespace capstan::testing {
namespace {

TEST_P(StreamContract, InterruptEndsRead) {
  Connect();
  for (const Side side : kBothSides) {
    std::vector<std::byte> untouched(100);
    std::future<Count> reading = StartRead(side, untouched);
    Interrupt(side);
    EXPECT_THAT(Await(std::move(reading)), IsOkAndHolds(0u));

    const std::vector<std::byte> sent = Pattern(1, 100);
    WriteAll(OtherSide(side), sent);
    std::vector<std::byte> received(sent.size());
    ReadAll(side, received);
    EXPECT_EQ(received, sent);
    EXPECT_EQ(untouched, std::vector<std::byte>(100));
  }
}

TEST_P(StreamContract, InterruptedWriteCountsWhatIsSent) {
  Connect();
  for (const Side side : kBothSides) {
    const size_t taken = FillUp(side, 2);
    std::vector<std::byte> more(1'000'000);
    for (size_t i = 0; i < more.size(); ++i) more[i] = PatternAt(2, taken + i);
    std::future<Count> writing = StartWrite(side, more);
    Interrupt(side);
    const Count count = Await(std::move(writing));
    ASSERT_OK(count);
    // The memory is ours again.
    std::fill(more.begin(), more.end(), std::byte{0xee});
    std::vector<std::byte> received(taken + *count);
    ReadAll(OtherSide(side), received);
    EXPECT_TRUE(IsPattern(2, received));
  }
}

TEST_P(StreamContract, InterruptEndsBothOperations) {
  Connect();
  const size_t taken = FillUp(Side::kClient, 3);
  std::vector<std::byte> room(10);
  const std::vector<std::byte> more = Pattern(4, 1'000'000);
  std::future<Count> reading = StartRead(Side::kClient, room);
  std::future<Count> writing = StartWrite(Side::kClient, more);
  Interrupt(Side::kClient);
  EXPECT_THAT(Await(std::move(reading)), IsOkAndHolds(0u));
  const Count count = Await(std::move(writing));
  ASSERT_OK(count);
  std::vector<std::byte> received(taken);
  ReadAll(Side::kServer, received);
  EXPECT_TRUE(IsPattern(3, received));
  std::vector<std::byte> rest(*count);
  ReadAll(Side::kServer, rest);
  EXPECT_TRUE(IsPattern(4, rest));
}

TEST_P(StreamContract, InterruptConcernsOnlyOperationsUnderWay) {
  Connect();
  Interrupt(Side::kServer);
  Interrupt(Side::kServer);
  std::vector<std::byte> received(10);
  std::future<Count> reading = StartRead(Side::kServer, received);
  Interrupt(Side::kClient);
  const std::vector<std::byte> sent = Pattern(5, 10);
  WriteAll(Side::kClient, sent);
  const Count count = Await(std::move(reading));
  ASSERT_OK(count);
  EXPECT_GE(*count, 1u);
  ReadAll(Side::kServer, MutableBytes(received).subspan(*count));
  EXPECT_EQ(received, sent);
}

// What two sides that interrupt themselves all the time have moved.
struct Torture {
  explicit Torture(size_t size) : from(Pattern(6, size)), into(size) {}

  std::vector<std::byte> from;
  std::vector<std::byte> into;
};

// Writes from a place of its own that it overwrites after every write.
Task<absl::Status> WriteFromScratch(Stream& stream, Torture& torture) {
  const Bytes all = torture.from;
  std::vector<std::byte> scratch;
  for (size_t done = 0; done < all.size();) {
    // Sizes from a byte to more than any buffer.
    const size_t wanted = size_t{1} << (done % 23);
    const Bytes part = all.subspan(done, std::min(wanted, all.size() - done));
    scratch.assign(part.begin(), part.end());
    const Bytes view = scratch;
    const std::span<const Bytes> views(&view, 1);
    absl::StatusOr<size_t> count = co_await stream.WriteSome(views);
    if (!count.ok()) co_return count.status();
    std::fill(scratch.begin(), scratch.end(), std::byte{0xee});
    done += *count;
  }
  co_return absl::OkStatus();
}

Task<absl::Status> ReadInPieces(Stream& stream, Torture& torture) {
  const MutableBytes all = torture.into;
  std::vector<std::byte> scratch;
  for (size_t done = 0; done < all.size();) {
    const size_t wanted = size_t{1} << (done % 21);
    scratch.resize(std::min(wanted, all.size() - done));
    const MutableBytes view = scratch;
    const std::span<const MutableBytes> views(&view, 1);
    absl::StatusOr<size_t> count = co_await stream.ReadSome(views);
    if (!count.ok()) co_return count.status();
    std::copy_n(scratch.begin(), *count, all.subspan(done).begin());
    done += *count;
  }
  co_return absl::OkStatus();
}

// In bursts, and between them time passes, also where it is simulated.
Task<> InterruptOften(Stream& stream, Clock& clock, Executor executor,
                      const bool& done) {
  const std::unique_ptr<Timer> timer = clock.NewTimer(executor);
  while (!done) {
    for (int turn = 0; turn < 20; ++turn) {
      stream.Interrupt();
      co_await asio::post(executor, asio::use_awaitable);
    }
    const MonotonicTime next = clock.Now() + std::chrono::microseconds(10);
    co_await timer->SleepUntil(next);
  }
}

TEST_P(StreamContract, ManyInterruptsLoseNothing) {
  constexpr size_t kSize = 5'000'000;
  Connect();
  Torture up(kSize);
  Torture down(kSize);
  bool done[2] = {false, false};
  std::vector<std::future<void>> interrupting;
  for (const Side side : kBothSides) {
    interrupting.push_back(
        StartOn(executor(side),
                InterruptOften(stream(side), world().clock(side),
                               executor(side), done[side == Side::kClient])));
  }
  std::future<absl::Status> operations[] = {
      StartOn(executor(Side::kServer), ReadInPieces(stream(Side::kServer), up)),
      StartOn(executor(Side::kClient),
              WriteFromScratch(stream(Side::kClient), up)),
      StartOn(executor(Side::kServer),
              WriteFromScratch(stream(Side::kServer), down)),
      StartOn(executor(Side::kClient),
              ReadInPieces(stream(Side::kClient), down))};
  for (std::future<absl::Status>& operation : operations) {
    EXPECT_OK(world().Await(std::move(operation)));
  }
  world().RunFunction(executor(Side::kServer), [&] { done[0] = true; });
  world().RunFunction(executor(Side::kClient), [&] { done[1] = true; });
  for (std::future<void>& end : interrupting) world().Await(std::move(end));
  EXPECT_TRUE(up.into == up.from);
  EXPECT_TRUE(down.into == down.from);
}

}  // namespace
}  // namespace capstan::testing
