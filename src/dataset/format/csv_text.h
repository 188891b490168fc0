// Finds where fields and records of CSV end.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace capstan {

// The first `a` or '\n' at or after `p`. There must be one; up to 7 bytes past
// it are read, too.
inline const char* FindEither(const char* p, char a) {
  constexpr std::uint64_t kOnes = 0x0101010101010101;
  constexpr std::uint64_t kHigh = 0x8080808080808080;
  const std::uint64_t as = kOnes * static_cast<unsigned char>(a);
  const std::uint64_t ends = kOnes * static_cast<unsigned char>('\n');
  while (true) {
    std::uint64_t word = 0;
    std::memcpy(&word, p, sizeof(word));
    if constexpr (std::endian::native == std::endian::big) {
      word = __builtin_bswap64(word);
    }
    // The lowest zero byte has its high bit set; higher bytes may have it
    // because of a carry.
    const std::uint64_t x = word ^ as;
    const std::uint64_t y = word ^ ends;
    const std::uint64_t found =
        (((x - kOnes) & ~x) | ((y - kOnes) & ~y)) & kHigh;
    if (found != 0) return p + std::countr_zero(found) / 8;
    p += 8;
  }
}

// The size of a UTF-8 byte order mark, which some programs write at the start
// of a file: 3, or 0 if there is none.
inline std::size_t ByteOrderMarkSize(std::string_view text) {
  return text.starts_with("\xef\xbb\xbf") ? 3 : 0;
}

// Whether the line that begins at `p` is empty; moves past it if so.
inline bool SkipEmptyLine(const char*& p) {
  if (*p == '\n') {
    ++p;
    return true;
  }
  if (*p == '\r' && p[1] == '\n') {
    p += 2;
    return true;
  }
  return false;
}

// Reads the quoted text that begins at `p`, with doubled quotes made single,
// and moves past the closing quote. False if that is not before `limit`.
bool ReadQuoted(const char*& p, const char* limit, char quote,
                std::string& text);

// Where the record that begins at `p` ends: after its '\n'. Null if that is not
// before `limit` because a quote is open.
const char* FindRecordEnd(const char* p, const char* limit, char delimiter,
                          char quote);

// The position after the last '\n' of the text, or null. At the end of the file
// the byte after the text, which must be a '\n', counts.
const char* FindLimit(std::string_view text, bool last);

}  // namespace capstan
