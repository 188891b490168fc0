#include "server/shard/values.h"

#include <gtest/gtest.h>

#include <cstring>
#include <thread>
#include <vector>

namespace capstan {
namespace {

std::shared_ptr<Values> Make(size_t size) {
  auto values = std::make_shared<Values>();
  values->memory = *Buffer::Allocate(size, Fill::kZero);
  return values;
}

TEST(ValuesTest, AreLeasedWhileThereIsALease) {
  const std::shared_ptr<Values> values = Make(8);
  EXPECT_FALSE(values->leased());
  {
    const Lease first(values);
    EXPECT_TRUE(values->leased());
    EXPECT_EQ(first.bytes().data(), values->memory.data());
    EXPECT_EQ(first.bytes().size(), 8u);
    Lease second(values);
    const Lease third(std::move(second));
    EXPECT_EQ(values->leases, 2u);
  }
  EXPECT_FALSE(values->leased());
}

TEST(ValuesTest, ALeaseKeepsThemAlive) {
  auto budget = std::make_shared<MemoryBudget>(100);
  std::shared_ptr<Values> values = Make(8);
  values->share = *BudgetShare::Take(budget, 8);
  auto lease = std::make_unique<Lease>(values);
  values = nullptr;
  EXPECT_EQ(budget->used(), 8u);
  EXPECT_EQ(lease->bytes()[7], std::byte{0});
  lease = nullptr;
  EXPECT_EQ(budget->used(), 0u);
}

// A reader on another thread is done with the bytes before the writer sees that
// it is.
TEST(ValuesTest, AWriterWaitsForReaders) {
  const std::shared_ptr<Values> values = Make(1024);
  for (int i = 0; i < 1000; ++i) {
    std::thread reader([lease = std::make_unique<Lease>(values)] {
      const std::byte first = lease->bytes()[0];
      for (const std::byte byte : lease->bytes()) EXPECT_EQ(byte, first);
    });
    while (values->leased()) std::this_thread::yield();
    std::memset(values->memory.data(), i & 0xff, values->memory.size());
    reader.join();
  }
}

}  // namespace
}  // namespace capstan
