#include "tensor/buffer.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>

namespace capstan {
namespace {

// Sizes around a cache line, a page and the switch to kernel memory.
const size_t kSizes[] = {1,
                         63,
                         64,
                         65,
                         4095,
                         4096,
                         4097,
                         Buffer::kLarge - 1,
                         Buffer::kLarge,
                         Buffer::kLarge + 1,
                         5 * Buffer::kLarge + 123};

TEST(BufferTest, IsAlignedAndWritableToTheLastByte) {
  for (size_t size : kSizes) {
    Buffer buffer = Buffer::Allocate(size, Fill::kNone).value();
    ASSERT_EQ(buffer.size(), size);
    EXPECT_EQ(buffer.bytes().size(), size);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer.data()) % 64, 0u) << size;
    std::memset(buffer.data(), 0x5a, size);
    EXPECT_EQ(buffer.bytes().back(), std::byte{0x5a});
  }
}

TEST(BufferTest, ZeroesEveryByteEvenOfReusedMemory) {
  for (size_t size : kSizes) {
    {
      Buffer dirty = Buffer::Allocate(size, Fill::kNone).value();
      std::memset(dirty.data(), 0xff, size);
    }
    Buffer buffer = Buffer::Allocate(size, Fill::kZero).value();
    Bytes bytes = buffer.bytes();
    EXPECT_EQ(static_cast<size_t>(
                  std::count(bytes.begin(), bytes.end(), std::byte{0})),
              size);
  }
}

TEST(BufferTest, NothingIsAllocatedForNothing) {
  Buffer buffer = Buffer::Allocate(0, Fill::kZero).value();
  EXPECT_EQ(buffer.size(), 0u);
  EXPECT_EQ(buffer.data(), nullptr);
  EXPECT_TRUE(buffer.bytes().empty());
}

TEST(BufferTest, AbsurdSizesAreErrors) {
  constexpr size_t kMax = std::numeric_limits<size_t>::max();
  for (size_t size : {size_t{1} << 48, size_t{1} << 62, size_t{1} << 63,
                      kMax - 4096, kMax - 63, kMax}) {
    for (Fill fill : {Fill::kNone, Fill::kZero}) {
      absl::Status status = Buffer::Allocate(size, fill).status();
      EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << size;
      EXPECT_NE(status.message().find(std::to_string(size)),
                absl::string_view::npos);
    }
  }
}

TEST(BufferTest, MovesAndLeavesNothingBehind) {
  static_assert(!std::is_copy_constructible_v<Buffer>);
  static_assert(std::is_nothrow_move_constructible_v<Buffer>);
  for (size_t size : {size_t{100}, Buffer::kLarge}) {
    Buffer first = Buffer::Allocate(size, Fill::kZero).value();
    const std::byte* data = first.data();
    Buffer second = std::move(first);
    EXPECT_EQ(second.data(), data);
    EXPECT_EQ(first.data(), nullptr);
    EXPECT_EQ(first.size(), 0u);
    // Replaces one of the other kind: each must be freed as it was allocated.
    Buffer third =
        Buffer::Allocate(Buffer::kLarge + 100 - size, Fill::kNone).value();
    third = std::move(second);
    EXPECT_EQ(third.data(), data);
    EXPECT_EQ(third.size(), size);
    EXPECT_EQ(second.data(), nullptr);
    Buffer& same = third;
    third = std::move(same);
    EXPECT_EQ(third.data(), data);
  }
}

TEST(BufferTest, LargeMemoryGoesBackToTheKernel) {
  std::byte* data = nullptr;
  unsigned char resident = 0;
  {
    Buffer buffer = Buffer::Allocate(Buffer::kLarge + 1, Fill::kNone).value();
    data = buffer.data();
    EXPECT_EQ(mincore(data + Buffer::kLarge, 1, &resident), 0);
  }
  EXPECT_EQ(mincore(data, 1, &resident), -1);
  EXPECT_EQ(mincore(data + Buffer::kLarge, 1, &resident), -1);
  EXPECT_EQ(errno, ENOMEM);
}

}  // namespace
}  // namespace capstan
