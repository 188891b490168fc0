// Where Random::FromOs gets its numbers, for tests and simulations, in which
// everything is to follow from a seed.
#pragma once

#include <cstdint>

#include "base/random.h"

namespace capstan {

// While it lives, Random::FromOs of its thread gives the forks of Random(seed)
// instead, one after the other. The newest counts. Not thread-safe.
class FakeEntropy {
 public:
  explicit FakeEntropy(uint64_t seed);
  ~FakeEntropy();
  FakeEntropy(const FakeEntropy&) = delete;
  FakeEntropy& operator=(const FakeEntropy&) = delete;

  // The one of this thread; null if there is none.
  static FakeEntropy* Current();

  Random Next() { return random_.Fork(drawn_++); }

 private:
  const Random random_;
  uint64_t drawn_ = 0;
  FakeEntropy* const before_;
};

}  // namespace capstan
