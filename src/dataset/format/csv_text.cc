#include "dataset/format/csv_text.h"

#include <string.h>

namespace capstan {

bool ReadQuoted(const char*& p, const char* limit, char quote,
                std::string& text) {
  text.clear();
  const char* q = p + 1;
  while (true) {
    const auto* end = static_cast<const char*>(
        memchr(q, quote, static_cast<std::size_t>(limit - q)));
    if (end == nullptr) return false;
    text.append(q, end);
    if (end[1] != quote) {
      p = end + 1;
      return true;
    }
    text.push_back(quote);
    q = end + 2;
    if (q >= limit) return false;
  }
}

const char* FindRecordEnd(const char* p, const char* limit, char delimiter,
                          char quote) {
  while (true) {
    if (quote != '\0' && *p == quote) {
      // A doubled quote looks like the end of one quoted stretch and the start
      // of another, which gives the same record end.
      const auto* end = static_cast<const char*>(
          memchr(p + 1, quote, static_cast<std::size_t>(limit - p - 1)));
      if (end == nullptr) return nullptr;
      p = end + 1;
      if (p >= limit) return nullptr;
      if (*p == quote) continue;
    }
    p = FindEither(p, delimiter);
    if (*p == '\n') return p + 1;
    ++p;
  }
}

const char* FindLimit(std::string_view text, bool last) {
  if (text.empty()) return nullptr;
  if (last) {
    const char* end = text.data() + text.size();
    return text.back() == '\n' ? end : end + 1;
  }
  const void* end = memrchr(text.data(), '\n', text.size());
  return end == nullptr ? nullptr : static_cast<const char*>(end) + 1;
}

}  // namespace capstan
