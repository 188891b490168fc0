// The answering side of a contender, in a separate process.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "launch/system/child_process.h"

namespace capstan {

struct RunningServer {
  ChildProcess process;  // ends with this object
  std::string address;   // where it listens
};

// Runs this program with `arguments` and waits until it reports its address.
absl::StatusOr<RunningServer> StartServer(
    const std::vector<std::string>& arguments);

// A directory for sockets and keys, removed with its contents on destruction.
class ScratchDirectory {
 public:
  static absl::StatusOr<ScratchDirectory> Create();
  ScratchDirectory(ScratchDirectory&& other) noexcept;
  ScratchDirectory& operator=(ScratchDirectory&&) = delete;
  ~ScratchDirectory();

  const std::string& path() const { return path_; }

  // The address for a server of `transport`: a port that the kernel chooses, or
  // for "unix" the socket `name` in this directory.
  std::string AddressFor(const std::string& transport,
                         const std::string& name) const;

 private:
  explicit ScratchDirectory(std::string path);
  std::string path_;
};

}  // namespace capstan
