#include "transport/inproc/inproc_pipe.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/random.h"
#include "testing/pattern.h"

namespace capstan {
namespace {

using testing::IsPattern;
using testing::Pattern;

constexpr size_t kLarge = 10 * InprocPipe::kMaxMoveBytes;

TEST(InprocPipeTest, ASmallWriteIsBuffered) {
  InprocPipe pipe;
  const std::vector<std::byte> sent = Pattern(1, 1'000);
  const Bytes from = sent;
  pipe.OfferWrite({&from, 1});
  pipe.Move();
  EXPECT_EQ(pipe.WithdrawWrite(), sent.size());
  EXPECT_EQ(pipe.buffered(), sent.size());

  std::vector<std::byte> received(2'000);
  const MutableBytes into = received;
  pipe.OfferRead({&into, 1});
  pipe.Move();
  EXPECT_EQ(pipe.WithdrawRead(), sent.size());
  EXPECT_TRUE(IsPattern(1, Bytes(received).first(sent.size())));
  EXPECT_EQ(pipe.buffered(), 0u);
}

TEST(InprocPipeTest, ALargeWriteWaitsForTheReader) {
  InprocPipe pipe;
  const std::vector<std::byte> sent = Pattern(2, kLarge);
  const Bytes from = sent;
  pipe.OfferWrite({&from, 1});
  pipe.Move();
  EXPECT_EQ(pipe.written(), 0u);
  EXPECT_EQ(pipe.buffered(), 0u);

  std::vector<std::byte> received(100'000);
  const MutableBytes into = received;
  pipe.OfferRead({&into, 1});
  pipe.Move();
  EXPECT_EQ(pipe.WithdrawRead(), received.size());
  EXPECT_EQ(pipe.WithdrawWrite(), received.size());
  EXPECT_TRUE(IsPattern(2, received));
}

TEST(InprocPipeTest, AWaitingReaderGetsTheBytesDirectly) {
  InprocPipe pipe;
  std::vector<std::byte> received(100);
  const MutableBytes into = received;
  pipe.OfferRead({&into, 1});
  pipe.Move();
  const std::vector<std::byte> sent = Pattern(3, 60);
  const Bytes from = sent;
  pipe.OfferWrite({&from, 1});
  pipe.Move();
  EXPECT_EQ(pipe.read(), 60u);
  EXPECT_EQ(pipe.written(), 60u);
  EXPECT_EQ(pipe.buffered(), 0u);
}

TEST(InprocPipeTest, OneMoveIsBounded) {
  InprocPipe pipe;
  const std::vector<std::byte> sent = Pattern(4, kLarge);
  std::vector<std::byte> received(kLarge);
  const Bytes from = sent;
  const MutableBytes into = received;
  pipe.OfferWrite({&from, 1});
  pipe.OfferRead({&into, 1});
  pipe.Move();
  EXPECT_EQ(pipe.read(), InprocPipe::kMaxMoveBytes);
}

TEST(InprocPipeTest, WithdrawnViewsAreNotUsed) {
  InprocPipe pipe;
  std::vector<std::byte> received(10);
  const MutableBytes into = received;
  pipe.OfferRead({&into, 1});
  EXPECT_EQ(pipe.WithdrawRead(), 0u);
  const std::vector<std::byte> sent = Pattern(5, 10);
  const Bytes from = sent;
  pipe.OfferWrite({&from, 1});
  pipe.Move();
  EXPECT_EQ(received, std::vector<std::byte>(10));
  EXPECT_EQ(pipe.WithdrawWrite(), 10u);
}

TEST(InprocPipeTest, DroppedBytesAreGone) {
  InprocPipe pipe;
  const std::vector<std::byte> sent = Pattern(6, 10);
  const Bytes from = sent;
  pipe.OfferWrite({&from, 1});
  pipe.Move();
  pipe.WithdrawWrite();
  pipe.DropBuffered();
  std::vector<std::byte> received(10);
  const MutableBytes into = received;
  pipe.OfferRead({&into, 1});
  pipe.Move();
  EXPECT_EQ(pipe.WithdrawRead(), 0u);
}

// Whatever the sizes and the order of the offers, bytes keep their order.
TEST(InprocPipeTest, AnyOrderOfOffersKeepsTheBytesInOrder) {
  constexpr size_t kTotal = 20'000'000;
  InprocPipe pipe;
  Random random(7);
  const std::vector<std::byte> sent = Pattern(7, kTotal);
  std::vector<std::byte> received(kTotal);
  size_t written = 0;
  size_t read = 0;
  while (read < kTotal) {
    Bytes from;
    MutableBytes into;
    const bool write_first = random.Below(2) == 0;
    for (const bool write : {write_first, !write_first}) {
      const size_t size = size_t{1} << random.Below(21);
      if (write) {
        from = Bytes(sent).subspan(written, std::min(size, kTotal - written));
        pipe.OfferWrite({&from, 1});
      } else {
        into =
            MutableBytes(received).subspan(read, std::min(size, kTotal - read));
        pipe.OfferRead({&into, 1});
      }
      pipe.Move();
      if (random.Below(2) == 0) {
        written += pipe.WithdrawWrite();
        read += pipe.WithdrawRead();
      }
    }
    written += pipe.WithdrawWrite();
    read += pipe.WithdrawRead();
    ASSERT_EQ(written, read + pipe.buffered());
    ASSERT_LE(pipe.buffered(), InprocPipe::kBufferBytes);
  }
  EXPECT_TRUE(received == sent);
}

}  // namespace
}  // namespace capstan
