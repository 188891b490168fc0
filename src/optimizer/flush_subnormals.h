// Subnormal numbers are too small to matter, and too slow to keep.
#pragma once

#include <cstdint>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace capstan {

// While it exists, this thread's arithmetic treats subnormal inputs and results
// as 0. Otherwise a moment that decays by 0.9 per update would end at 4 times
// the smallest subnormal, since 3.6 rounds to 4, and stay there; and updates
// with such numbers take three to six times as long. Not thread-safe: belongs
// to the thread that made it.
class FlushSubnormals {
 public:
#if defined(__x86_64__)
  FlushSubnormals() : before_(_mm_getcsr()) {
    _mm_setcsr(before_ | kFlushResults | kFlushOperands);
  }
  ~FlushSubnormals() { _mm_setcsr(before_); }
#elif defined(__aarch64__)
  FlushSubnormals() {
    asm volatile("mrs %0, fpcr" : "=r"(before_));
    asm volatile("msr fpcr, %0" : : "r"(before_ | kFlush));
  }
  ~FlushSubnormals() { asm volatile("msr fpcr, %0" : : "r"(before_)); }
#else
  FlushSubnormals() = default;
#endif
  FlushSubnormals(const FlushSubnormals&) = delete;
  FlushSubnormals& operator=(const FlushSubnormals&) = delete;

 private:
#if defined(__x86_64__)
  static constexpr uint32_t kFlushResults = 0x8000;
  static constexpr uint32_t kFlushOperands = 0x0040;
  const uint32_t before_;
#elif defined(__aarch64__)
  static constexpr uint64_t kFlush = uint64_t{1} << 24;
  uint64_t before_ = 0;
#endif
};

}  // namespace capstan
