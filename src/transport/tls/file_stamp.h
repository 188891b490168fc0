// What tells whether a file has been replaced or written to, without reading
// it. Thread-safe: a value and a pure function.
#pragma once

#include <cstdint>
#include <string>

namespace capstan {

// All zeros: no such file, or none that can be looked at.
struct FileStamp {
  uint64_t device = 0;
  uint64_t inode = 0;
  uint64_t size = 0;
  // Nanoseconds. The second one, of the last change of anything, cannot be set
  // back, as the first is by `cp -p`.
  int64_t modified = 0;
  int64_t changed = 0;

  friend bool operator==(const FileStamp&, const FileStamp&) = default;
};

// That of the file at the end of any symbolic links: Kubernetes replaces a
// Secret by turning a link.
FileStamp StampOf(const std::string& path);

}  // namespace capstan
