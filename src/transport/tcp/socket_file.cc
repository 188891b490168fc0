#include "transport/tcp/socket_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <thread>
#include <utility>

namespace capstan {
namespace {

// Other processes hold the lock for a few system calls only.
constexpr std::chrono::milliseconds kLockPause{5};
constexpr int kLockAttempts = 200;

}  // namespace

SocketFolderLock::SocketFolderLock(const std::string& path) {
  const size_t slash = path.rfind('/');
  const std::string folder =
      slash == std::string::npos ? "." : path.substr(0, slash + 1);
  folder_ = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  for (int i = 0; folder_ >= 0 && i < kLockAttempts; ++i) {
    if (::flock(folder_, LOCK_EX | LOCK_NB) == 0) return;
    std::this_thread::sleep_for(kLockPause);
  }
}

SocketFolderLock::~SocketFolderLock() {
  if (folder_ >= 0) ::close(folder_);
}

void RemoveStaleSocket(const std::string& path) {
  struct stat info;
  if (::lstat(path.c_str(), &info) != 0 || !S_ISSOCK(info.st_mode)) return;
  // Non-blocking, so as not to wait if the listener's queue is full.
  const int fd =
      ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return;
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  path.copy(name.sun_path, sizeof(name.sun_path) - 1);
  const int result =
      ::connect(fd, reinterpret_cast<const sockaddr*>(&name), sizeof(name));
  if (result != 0 && errno == ECONNREFUSED) ::unlink(path.c_str());
  ::close(fd);
}

SocketFile::SocketFile(std::string path) {
  struct stat info;
  if (::lstat(path.c_str(), &info) != 0) return;
  path_ = std::move(path);
  device_ = info.st_dev;
  number_ = info.st_ino;
}

void SocketFile::Remove() {
  struct stat info;
  if (path_.empty() || ::lstat(path_.c_str(), &info) != 0 ||
      info.st_dev != device_ || info.st_ino != number_) {
    return;
  }
  ::unlink(path_.c_str());
}

}  // namespace capstan
