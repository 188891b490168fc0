#include "launch/system/date_text.h"

#include <fmt/chrono.h>

#include <chrono>

namespace capstan {

std::string DateText(WallTime time) {
  return fmt::format(
      "{:%Y-%m-%d}",
      fmt::gmtime(std::chrono::system_clock::to_time_t(
          std::chrono::floor<std::chrono::system_clock::duration>(time))));
}

}  // namespace capstan
