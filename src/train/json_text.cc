#include "train/json_text.h"

#include <fmt/format.h>

#include <cmath>

namespace capstan {

std::string JsonNumber(double value) {
  if (!std::isfinite(value)) return "null";
  return fmt::format("{}", value);
}

std::string JsonString(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      quoted += '\\';
      quoted += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      quoted += fmt::format("\\u{:04x}", static_cast<int>(c));
    } else {
      quoted += c;
    }
  }
  return quoted + '"';
}

}  // namespace capstan
