// The folder that holds the sockets of a local job, private to the user.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "capstan/cluster_spec.h"

namespace capstan {

// A new folder of mode 0700, removed with its contents by the destructor. Its
// name is short because the kernel limits a socket's path to 107 bytes.
// Move-only. Not thread-safe.
class SocketFolder {
 public:
  // Creates it in `parent`, or in /tmp if `parent` is empty or unsuitable: its
  // name is too long or odd, or we cannot write there. Fails like FileSystem.
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
// at the Unix address `chief`: a socket beside the chief's.
// "unix:/tmp/capstan-Xb3dKq/joined-4711".
std::string AddressBeside(const std::string& chief, int pid);

}  // namespace capstan
