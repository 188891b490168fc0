// XXH3, 64 bits: a fast hash whose values are fixed by its specification, so
// they may be stored and compared between machines. Not for adversaries: use
// a cryptographic digest where someone gains by a collision.
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

  // Adds bytes as they are: the digest is Hash64 of all of them in a row,
  // wherever they were cut.
  void AddRaw(Bytes data);

  // Adds one value so that it cannot run into its neighbours: an integer as
  // eight little-endian bytes, a text after its length.
  void Add(uint64_t value);
  void Add(std::string_view text);

  // The hash of all that was added so far. More may be added afterwards.
  uint64_t Digest() const;

 private:
  struct FreeState {
    void operator()(XXH3_state_s* state) const;
  };
  std::unique_ptr<XXH3_state_s, FreeState> state_;
};

}  // namespace capstan
