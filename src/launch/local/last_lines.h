// The last lines of a long text.
#pragma once

#include <cstddef>
#include <deque>
#include <string>
#include <string_view>

namespace capstan {

// Keeps the last lines added, and only the beginning of each, so that memory is
// bounded. Not thread-safe.
class LastLines {
 public:
  static constexpr size_t kLines = 30;
  static constexpr size_t kBytesPerLine = 2000;

  void Add(std::string_view line) {
    if (lines_.size() == kLines) lines_.pop_front();
    const bool cut = line.size() > kBytesPerLine;
    lines_.emplace_back(line.substr(0, kBytesPerLine));
    if (cut) lines_.back() += "...";
  }

  // Oldest first.
  const std::deque<std::string>& lines() const { return lines_; }

 private:
  std::deque<std::string> lines_;
};

}  // namespace capstan
