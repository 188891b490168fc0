// The file of a Unix socket: replaces one that a dead process left behind, and
// removes it.
#pragma once

#include <sys/types.h>

#include <string>

namespace capstan {

// Held from finding a stale socket to listening on its replacement, so that no
// other process that takes this lock makes or replaces sockets in the folder of
// `path` meanwhile. Waits at most a second, then continues without the lock: in
// a world-accessible folder, a stranger may hold it.
class SocketFolderLock {
 public:
  explicit SocketFolderLock(const std::string& path);
  ~SocketFolderLock();
  SocketFolderLock(const SocketFolderLock&) = delete;
  SocketFolderLock& operator=(const SocketFolderLock&) = delete;

 private:
  int folder_ = -1;  // -1 if it could not be locked
};

// Removes `path` if it is the socket of a dead process, to which connecting is
// refused. Leaves alone a socket with a listener and any file that is not a
// socket.
void RemoveStaleSocket(const std::string& path);

// A file, identified by device and inode rather than by name.
class SocketFile {
 public:
  // No file.
  SocketFile() = default;
  // The file at `path` now.
  explicit SocketFile(std::string path);

  // Removes the name, unless it now belongs to another file.
  void Remove();

 private:
  std::string path_;
  dev_t device_ = 0;
  ino_t number_ = 0;
};

}  // namespace capstan
