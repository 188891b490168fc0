#include "base/random.h"

#include <sys/random.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/hash.h"

namespace capstan {
namespace {

// A key per use, which keeps the uses of one seed independent.
constexpr uint64_t kElementKey = 0x3c6ef372fe94f82b;
constexpr uint64_t kForkByIdKey = 0xa54ff53a5f1d36f1;
constexpr uint64_t kForkByNameKey = 0x510e527fade682d1;

constexpr uint32_t Low(uint64_t value) { return static_cast<uint32_t>(value); }
constexpr uint32_t High(uint64_t value) {
  return static_cast<uint32_t>(value >> 32);
}
constexpr uint64_t Join(uint32_t low, uint32_t high) {
  return uint64_t{high} << 32 | low;
}

std::array<uint64_t, 2> Block(uint64_t low, uint64_t high, uint64_t key) {
  const PhiloxCounter out = Philox({Low(low), High(low), Low(high), High(high)},
                                   {Low(key), High(key)});
  return {Join(out[0], out[1]), Join(out[2], out[3])};
}

// The top 53 bits as a fraction: exact, so the same everywhere.
double ToUniform(uint64_t bits) {
  return static_cast<double>(bits >> 11) * 0x1p-53;
}

}  // namespace

std::array<uint64_t, 2> RandomBitsAt(uint64_t seed, uint64_t index,
                                     uint32_t draw) {
  return Block(index, draw, seed ^ kElementKey);
}

double UniformAt(uint64_t seed, uint64_t index, uint32_t draw) {
  return ToUniform(RandomBitsAt(seed, index, draw)[0]);
}

Random::Random(uint64_t seed, uint64_t stream) : seed_(seed), stream_(stream) {}

Random Random::FromOs() {
  std::array<uint64_t, 2> entropy{};
  // Reads of up to 256 bytes are never short; they can only be interrupted
  // while the entropy pool is not ready.
  ssize_t got = 0;
  do {
    got = getrandom(entropy.data(), sizeof(entropy), 0);
  } while (got < 0 && errno == EINTR);
  if (got != static_cast<ssize_t>(sizeof(entropy))) {
    std::fprintf(stderr, "capstan: the system has no random numbers: %s\n",
                 std::strerror(errno));
    std::abort();
  }
  return Random(entropy[0], entropy[1]);
}

Random Random::Fork(std::string_view name) const {
  const auto child = Block(Hash64(name), stream_, seed_ ^ kForkByNameKey);
  return Random(child[0], child[1]);
}

Random Random::Fork(uint64_t id) const {
  const auto child = Block(id, stream_, seed_ ^ kForkByIdKey);
  return Random(child[0], child[1]);
}

uint64_t Random::NextU64() {
  if (has_spare_) {
    has_spare_ = false;
    return spare_;
  }
  const auto bits = Block(block_++, stream_, seed_);
  spare_ = bits[1];
  has_spare_ = true;
  return bits[0];
}

uint64_t Random::Below(uint64_t n) {
  if (n == 0) return 0;
  // Lemire's method: the high half of a product; the few low halves that would
  // favour some results are redrawn.
  using Wide = unsigned __int128;
  Wide product = Wide{NextU64()} * n;
  if (static_cast<uint64_t>(product) < n) {
    const uint64_t surplus = (0 - n) % n;
    while (static_cast<uint64_t>(product) < surplus) {
      product = Wide{NextU64()} * n;
    }
  }
  return static_cast<uint64_t>(product >> 64);
}

int64_t Random::Between(int64_t low, int64_t high) {
  if (high < low) return low;
  // Unsigned, since the distance between two int64_t may exceed int64_t.
  const uint64_t start = static_cast<uint64_t>(low);
  const uint64_t distance = static_cast<uint64_t>(high) - start;
  const uint64_t offset =
      distance == ~uint64_t{0} ? NextU64() : Below(distance + 1);
  return static_cast<int64_t>(start + offset);
}

double Random::Uniform() { return ToUniform(NextU64()); }

bool Random::Chance(double p) { return Uniform() < p; }

}  // namespace capstan
