// A value that many threads read while one replaces it.
//
// Readers share it: what was replaced is freed by its last reader. They take no
// lock and touch only a cache line that few other threads use; whoever replaces
// the value waits until nobody is between finding the old one and sharing it,
// which takes a few instructions (docs/decisions/034).
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <thread>

namespace capstan {

// Thread-safe, except as Replace says.
template <typename T>
class Published {
 public:
  explicit Published(const std::shared_ptr<const T>& value) { Fill(0, value); }
  Published(const Published&) = delete;
  Published& operator=(const Published&) = delete;

  std::shared_ptr<const T> Load() const {
    const size_t thread =
        std::hash<std::thread::id>()(std::this_thread::get_id());
    Stripe& stripe = (*stripes_)[thread % stripes_->size()];
    while (true) {
      const size_t current = current_.load();
      Side& side = stripe.sides[current];
      side.readers.fetch_add(1);
      // If it is still the current one, it stays as it is until this reader has
      // left: Replace looks for readers after it has changed `current_`.
      if (current_.load() == current) {
        std::shared_ptr<const T> value = side.value;
        side.readers.fetch_sub(1);
        return value;
      }
      side.readers.fetch_sub(1);
    }
  }

  // By one thread at a time.
  void Replace(const std::shared_ptr<const T>& value) {
    const size_t old = current_.load();
    Fill(1 - old, value);
    current_.store(1 - old);
    for (Stripe& stripe : *stripes_) {
      Side& side = stripe.sides[old];
      while (side.readers.load() != 0) std::this_thread::yield();
      side.value = nullptr;
    }
  }

 private:
  struct Side {
    std::atomic<uint32_t> readers = 0;
    std::shared_ptr<const T> value;
  };
  struct alignas(64) Stripe {
    std::array<Side, 2> sides;
  };

  // Each stripe counts the readers of the value on its own.
  void Fill(size_t index, const std::shared_ptr<const T>& value) {
    for (Stripe& stripe : *stripes_) {
      stripe.sides[index].value =
          std::shared_ptr<const T>(value.get(), [value](const T*) {});
    }
  }

  // Which of the sides is read. The other is empty.
  std::atomic<size_t> current_ = 0;
  // Apart from this, which may be in the frame of a coroutine: those of GCC 12
  // have no room for such an alignment.
  using Stripes = std::array<Stripe, 32>;
  const std::unique_ptr<Stripes> stripes_ = std::make_unique<Stripes>();
};

}  // namespace capstan
