// Detects that a file was replaced or written to, without reading it.
// Thread-safe: a value and a pure function.
#pragma once

#include <cstdint>
#include <string>

namespace capstan {

// All zeros: the file does not exist or cannot be examined.
struct FileStamp {
  uint64_t device = 0;
  uint64_t inode = 0;
  uint64_t size = 0;
  // In ns: mtime and ctime. Unlike mtime, which `cp -p` sets back, ctime (the
  // last change of anything) cannot be set.
  int64_t modified = 0;
  int64_t changed = 0;

  friend bool operator==(const FileStamp&, const FileStamp&) = default;
};

// The stamp of the file at the end of any symbolic links: Kubernetes replaces a
// Secret by changing where a link points.
FileStamp StampOf(const std::string& path);

}  // namespace capstan
