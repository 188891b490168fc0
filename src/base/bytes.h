// Views of raw memory: what the wire carries and files hold.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace capstan {

using Bytes = std::span<const std::byte>;
using MutableBytes = std::span<std::byte>;

// The bytes of a string, and a string view of bytes. Neither copies.
inline Bytes AsBytes(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}
inline std::string_view AsText(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// The sum of the sizes of a list of views.
template <typename Views>
size_t TotalSize(const Views& views) {
  size_t total = 0;
  for (const auto& view : views) total += view.size();
  return total;
}

}  // namespace capstan
