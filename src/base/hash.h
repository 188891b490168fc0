// XXH3, 64 bits: a fast hash whose values are fixed by its specification, so
// they may be stored and compared between machines. Not collision-resistant
// against adversaries: use a cryptographic digest where someone gains by a
// collision.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "base/bytes.h"

struct XXH3_state_s;

namespace capstan {

// The hash of `data`. Pure; thread-safe.
uint64_t Hash64(Bytes data, uint64_t seed = 0);
inline uint64_t Hash64(std::string_view text, uint64_t seed = 0) {
  return Hash64(AsBytes(text), seed);
}

// A hash of many pieces, such as the events of a simulated run.
// Not thread-safe. Movable; a moved-from Hasher may only be destroyed or
// assigned to.
class Hasher {
 public:
  explicit Hasher(uint64_t seed = 0);
  Hasher(Hasher&& other) noexcept;
  Hasher& operator=(Hasher&& other) noexcept;
  ~Hasher();

  // Adds raw bytes: the digest is Hash64 of their concatenation, however they
  // were split into calls.
  void AddRaw(Bytes data);

  // Adds one value so that it cannot run into its neighbours: an integer as
  // eight little-endian bytes, text preceded by its length.
  void Add(uint64_t value);
  void Add(std::string_view text);

  // The hash of everything added so far. More may be added afterwards.
  uint64_t Digest() const;

 private:
  struct FreeState {
    void operator()(XXH3_state_s* state) const;
  };
  std::unique_ptr<XXH3_state_s, FreeState> state_;
};

}  // namespace capstan
