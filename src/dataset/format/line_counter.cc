#include "dataset/format/line_counter.h"

#include <algorithm>
#include <vector>

namespace capstan {

std::uint64_t LineCounter::LineAt(const ReadableFile& file,
                                  std::uint64_t offset) {
  constexpr std::uint64_t kPiece = std::uint64_t{64} << 10;
  if (offset < offset_) *this = {};
  std::vector<std::byte> piece(kPiece);
  while (offset_ < offset) {
    const absl::StatusOr<std::size_t> got = file.ReadAt(
        offset_, MutableBytes(piece).first(std::min(kPiece, offset - offset_)));
    if (!got.ok() || *got == 0) return 0;
    const auto end = piece.begin() + static_cast<std::ptrdiff_t>(*got);
    line_ += static_cast<std::uint64_t>(
        std::count(piece.begin(), end, std::byte{'\n'}));
    offset_ += *got;
  }
  return line_;
}

}  // namespace capstan
