// A value that many threads read while one thread replaces it.
//
// Readers share the value: one that was replaced is freed by its last reader.
// They take no lock and touch only a cache line that few other threads use.
// Replace waits until no reader is between finding the old value and sharing
// it, which takes a few instructions (docs/decisions/034).
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
      // If this side is still current, it does not change until this reader has
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

  // Each stripe counts the readers of the value separately.
  void Fill(size_t index, const std::shared_ptr<const T>& value) {
    for (Stripe& stripe : *stripes_) {
      stripe.sides[index].value =
          std::shared_ptr<const T>(value.get(), [value](const T*) {});
    }
  }

  // Which side is read. The other is empty.
  std::atomic<size_t> current_ = 0;
  // Allocated separately, because this object may be in a coroutine frame, and
  // those of GCC 12 do not support this alignment.
  using Stripes = std::array<Stripe, 32>;
  const std::unique_ptr<Stripes> stripes_ = std::make_unique<Stripes>();
};

}  // namespace capstan
