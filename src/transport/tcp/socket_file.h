// The file of a Unix socket: making it where a dead process has left one, and
// removing it.
#pragma once

#include <sys/types.h>

#include <string>

namespace capstan {

// While it lives, no other process that has one makes or replaces sockets in
// the folder of `path`: between seeing that a socket is stale and listening on
// a new one in its place. Waits for them for a second at most, then continues
// without the lock: in a folder that is open to all, a stranger may hold it.
class SocketFolderLock {
 public:
  explicit SocketFolderLock(const std::string& path);
  ~SocketFolderLock();
  SocketFolderLock(const SocketFolderLock&) = delete;
  SocketFolderLock& operator=(const SocketFolderLock&) = delete;

 private:
  int folder_ = -1;  // or -1, if it cannot be locked
};

// Removes the socket of a process that is gone: connecting to it is refused.
// One that somebody listens on, or that is no socket, is left alone.
void RemoveStaleSocket(const std::string& path);

// A file, whatever becomes of its name.
class SocketFile {
 public:
  // None.
  SocketFile() = default;
  // The one at `path` now.
  explicit SocketFile(std::string path);

  // Removes the name, unless it is another file's by now.
  void Remove();

 private:
  std::string path_;
  dev_t device_ = 0;
  ino_t number_ = 0;
};

}  // namespace capstan
