#include "launch/system/printable.h"

#include <fmt/format.h>

namespace capstan {

std::string Printable(std::string_view text) {
  std::string printable;
  printable.reserve(text.size());
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte != 0x7f) {
      printable += c;
    } else {
      printable += fmt::format("\\x{:02x}", byte);
    }
  }
  return printable;
}

}  // namespace capstan
