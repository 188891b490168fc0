// Signals as data: read in a loop like everything else.
#pragma once

#include <signal.h>

#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "launch/system/file_descriptor.h"

namespace capstan {

// Blocks signals in the calling thread and lets them be read instead; unblocks
// them when destroyed. The process must have no other threads that take them.
// Not thread-safe; destroy it in the thread that created it.
class SignalFd {
 public:
  // ResourceExhausted if the system has no descriptor left.
  static absl::StatusOr<SignalFd> Open(const std::vector<int>& signals);

  SignalFd(SignalFd&&) = default;
  SignalFd& operator=(SignalFd&&) = delete;
  ~SignalFd();

  // Readable when a signal has come.
  int fd() const { return fd_.get(); }

  // The signals that have come since the last call, each once. Never blocks.
  std::vector<int> Take();

 private:
  SignalFd(FileDescriptor fd, sigset_t before)
      : fd_(std::move(fd)), before_(before) {}

  FileDescriptor fd_;
  sigset_t before_;
};

}  // namespace capstan
