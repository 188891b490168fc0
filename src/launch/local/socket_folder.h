// Where the sockets of a local job are: a folder of the user's own.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "capstan/cluster_spec.h"

namespace capstan {

// A new folder of mode 0700, removed with what is in it. Its name is short, as
// the kernel allows 107 bytes for the path of a socket. Move-only. Not
// thread-safe.
class SocketFolder {
 public:
  // Creates it in `parent`, or in /tmp if that is empty or no place for it: a
  // name too long or odd, or not ours to write in. Fails like FileSystem does.
  static absl::StatusOr<SocketFolder> Create(const std::string& parent);
  ~SocketFolder();
  SocketFolder(SocketFolder&& other) noexcept;
  SocketFolder& operator=(SocketFolder&&) = delete;

  // "/tmp/capstan-Xb3dKq".
  const std::string& path() const { return path_; }

  // "unix:/tmp/capstan-Xb3dKq/worker-1".
  std::string AddressOf(TaskId task) const;

 private:
  explicit SocketFolder(std::string path);

  std::string path_;
};

// The address of a worker, of process `pid`, that joins the job whose chief is
// at `chief`, a Unix address: beside it.
// "unix:/tmp/capstan-Xb3dKq/joined-4711".
std::string AddressBeside(const std::string& chief, int pid);

}  // namespace capstan
