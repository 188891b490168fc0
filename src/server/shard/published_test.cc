#include "server/shard/published.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

namespace capstan {
namespace {

// Counts its instances.
class Counted {
 public:
  Counted(std::atomic<int>& alive, uint64_t number)
      : alive_(alive), number_(number), same_(number) {
    ++alive_;
  }
  ~Counted() {
    // What a reader that came too late would see.
    number_ = 0;
    --alive_;
  }
  uint64_t number() const { return number_; }
  bool whole() const { return number_ != 0 && number_ == same_; }

 private:
  std::atomic<int>& alive_;
  uint64_t number_;
  const uint64_t same_;
};

TEST(PublishedTest, AReplacedValueIsFreedByItsLastReader) {
  std::atomic<int> alive = 0;
  Published<Counted> published(std::make_shared<Counted>(alive, 1));
  std::shared_ptr<const Counted> first = published.Load();
  const std::shared_ptr<const Counted> again = published.Load();
  published.Replace(std::make_shared<Counted>(alive, 2));
  EXPECT_EQ(alive, 2);
  EXPECT_EQ(first->number(), 1u);
  EXPECT_EQ(published.Load()->number(), 2u);
  for (uint64_t i = 3; i <= 100; ++i) {
    published.Replace(std::make_shared<Counted>(alive, i));
    EXPECT_EQ(published.Load()->number(), i);
    EXPECT_EQ(alive, 2);
  }
  first = nullptr;
  EXPECT_EQ(alive, 2);
  EXPECT_EQ(again->number(), 1u);
}

TEST(PublishedTest, ReadersSeeWholeValuesThatNeverGoBack) {
  constexpr int kReaders = 3;
  constexpr uint64_t kValues = 2000;
  std::atomic<int> alive = 0;
  std::atomic<int> wrong = 0;
  std::atomic<int> reading = 0;
  std::atomic<bool> over = false;
  {
    Published<Counted> published(std::make_shared<Counted>(alive, 1));
    std::vector<std::thread> readers;
    for (int i = 0; i < kReaders; ++i) {
      readers.emplace_back([&] {
        uint64_t last = 0;
        bool first = true;
        while (!over) {
          const std::shared_ptr<const Counted> value = published.Load();
          if (!value->whole() || value->number() < last) ++wrong;
          last = value->number();
          if (std::exchange(first, false)) ++reading;
        }
      });
    }
    while (reading < kReaders) std::this_thread::yield();
    for (uint64_t i = 2; i <= kValues; ++i) {
      published.Replace(std::make_shared<Counted>(alive, i));
    }
    over = true;
    for (std::thread& reader : readers) reader.join();
    EXPECT_EQ(alive, 1);
    EXPECT_EQ(published.Load()->number(), kValues);
  }
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(alive, 0);
}

}  // namespace
}  // namespace capstan
