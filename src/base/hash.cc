#include "base/hash.h"

#include <xxhash.h>

#include <array>
#include <cstddef>

namespace capstan {

uint64_t Hash64(Bytes data, uint64_t seed) {
  return XXH3_64bits_withSeed(data.data(), data.size(), seed);
}

Hasher::Hasher(uint64_t seed) : state_(XXH3_createState()) {
  XXH3_64bits_reset_withSeed(state_.get(), seed);
}

Hasher::Hasher(Hasher&& other) noexcept = default;
Hasher& Hasher::operator=(Hasher&& other) noexcept = default;
Hasher::~Hasher() = default;

void Hasher::AddRaw(Bytes data) {
  if (data.empty()) return;
  XXH3_64bits_update(state_.get(), data.data(), data.size());
}

void Hasher::Add(uint64_t value) {
  std::array<std::byte, 8> bytes;
  for (std::byte& byte : bytes) {
    byte = static_cast<std::byte>(value);
    value >>= 8;
  }
  AddRaw(bytes);
}

void Hasher::Add(std::string_view text) {
  Add(uint64_t{text.size()});
  AddRaw(AsBytes(text));
}

uint64_t Hasher::Digest() const { return XXH3_64bits_digest(state_.get()); }

void Hasher::FreeState::operator()(XXH3_state_s* state) const {
  XXH3_freeState(state);
}

}  // namespace capstan
