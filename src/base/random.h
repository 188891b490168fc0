// Random numbers from Philox4x32-10 (Salmon et al., "Parallel random numbers:
// as easy as 1, 2, 3", SC'11): a function from a counter and a key to 128
// random bits. So a seed gives the same numbers with every compiler, on every
// machine and in any order of access.
// Never for secrets: whoever sees a few outputs can compute the rest.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace capstan {

using PhiloxCounter = std::array<uint32_t, 4>;
using PhiloxKey = std::array<uint32_t, 2>;

// The Philox4x32-10 block of `counter` under `key`. Pure.
constexpr PhiloxCounter Philox(PhiloxCounter counter, PhiloxKey key) {
  constexpr uint64_t kMultiplier0 = 0xd2511f53;
  constexpr uint64_t kMultiplier1 = 0xcd9e8d57;
  constexpr uint32_t kWeyl0 = 0x9e3779b9;
  constexpr uint32_t kWeyl1 = 0xbb67ae85;
  for (int round = 0; round < 10; ++round) {
    const uint64_t product0 = kMultiplier0 * counter[0];
    const uint64_t product1 = kMultiplier1 * counter[2];
    counter = {
        static_cast<uint32_t>(product1 >> 32) ^ counter[1] ^ key[0],
        static_cast<uint32_t>(product1),
        static_cast<uint32_t>(product0 >> 32) ^ counter[3] ^ key[1],
        static_cast<uint32_t>(product0),
    };
    key[0] += kWeyl0;
    key[1] += kWeyl1;
  }
  return counter;
}

// The 128 random bits of element `index` of the array that `seed` stands for,
// and its number in [0, 1): for initial values that must not depend on how a
// variable is sharded. A `draw` other than 0 gives further bits of the same
// element, for methods that reject some. Pure; thread-safe. Unrelated to the
// sequence of Random(seed).
std::array<uint64_t, 2> RandomBitsAt(uint64_t seed, uint64_t index,
                                     uint32_t draw = 0);
double UniformAt(uint64_t seed, uint64_t index, uint32_t draw = 0);

// A sequence of random numbers. A value: a copy continues independently with
// the same numbers. Not thread-safe; give each thread or role a Fork.
class Random {
 public:
  // The sequence of (seed, stream), from its start. Different pairs give
  // independent sequences, each of 2^65 numbers.
  explicit Random(uint64_t seed, uint64_t stream = 0);

  // An unpredictable sequence, seeded by the operating system. Blocks at boot
  // until the system has gathered enough entropy; aborts the process if the
  // system has no random numbers at all.
  static Random FromOs();

  // A sequence independent of this one and of forks with other names or ids. It
  // depends only on the seed, the stream and the name, not on how many numbers
  // were drawn: a role's numbers do not change when another role draws more.
  // Forking twice with the same name gives the same sequence twice.
  Random Fork(std::string_view name) const;
  Random Fork(uint64_t id) const;

  // Uniform over all 2^64 values.
  uint64_t NextU64();

  // Uniform over 0 .. n-1, without modulo bias. 0 if n is 0.
  uint64_t Below(uint64_t n);

  // Uniform over low .. high, both included. `low` if high < low.
  int64_t Between(int64_t low, int64_t high);

  // A multiple of 2^-53 in [0, 1).
  double Uniform();

  // True with probability `p`: never if p <= 0 (or NaN), always if p >= 1.
  // Always draws one number.
  bool Chance(double p);

 private:
  uint64_t seed_;
  uint64_t stream_;
  // The next block, and the second half of the last one if not yet drawn.
  uint64_t block_ = 0;
  uint64_t spare_ = 0;
  bool has_spare_ = false;
};

}  // namespace capstan
