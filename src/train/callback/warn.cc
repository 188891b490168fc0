#include "train/callback/warn.h"

#include <fmt/format.h>

#include <iostream>

namespace capstan {

void Warn(const Callback& callback, std::string_view text) {
  // As one string, because other threads write there too.
  std::cerr << fmt::format("warning: {}: {}\n", callback.Name(), text);
  std::cerr.flush();
}

}  // namespace capstan
