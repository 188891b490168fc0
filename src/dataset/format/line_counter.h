// Finds the line of a file that a byte is on. It reads the file again up to
// there, so use it for errors only.
#pragma once

#include <cstdint>

#include "base/file/file_system.h"

namespace capstan {

// Not thread-safe. Continues from the previous position if it can, so that a
// file with many errors is not read from its start for each.
class LineCounter {
 public:
  // From 1; 0 if the file cannot be read.
  std::uint64_t LineAt(const ReadableFile& file, std::uint64_t offset);

 private:
  std::uint64_t offset_ = 0;  // of a byte of line_
  std::uint64_t line_ = 1;
};

}  // namespace capstan
