// Walks through a list of views such as those passed to ReadSome and WriteSome.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <span>

#include "base/bytes.h"
#include "transport/stream.h"

namespace capstan {

// A position in a list of views; all bytes before it are done. Uses only the
// first kMaxViews views. Does not own the list, which must stay valid.
template <typename View>
requires std::same_as<View, Bytes> || std::same_as<View, MutableBytes>
class ViewCursor {
 public:
  ViewCursor() = default;
  explicit ViewCursor(std::span<const View> views)
      : views_(views.first(std::min(views.size(), kMaxViews))),
        remaining_(TotalSize(views_)) {
    SkipEmpty();
  }

  // The number of bytes left, and the first contiguous ones.
  size_t remaining() const { return remaining_; }
  View front() const {
    return remaining_ == 0 ? View() : views_.front().subspan(offset_);
  }

  // Advances by `count` bytes, at most remaining().
  void Advance(size_t count) {
    remaining_ -= count;
    offset_ += count;
    SkipEmpty();
  }

 private:
  // Makes the offset fall inside the first view, unless none is left.
  void SkipEmpty() {
    while (!views_.empty() && offset_ >= views_.front().size()) {
      offset_ -= views_.front().size();
      views_ = views_.subspan(1);
    }
  }

  std::span<const View> views_;
  size_t offset_ = 0;
  size_t remaining_ = 0;
};

}  // namespace capstan
