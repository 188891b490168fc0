// Signals as data, to be read in a loop like any other input.
#pragma once

#include <signal.h>

#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "launch/system/file_descriptor.h"

namespace capstan {

// Blocks signals in the calling thread so that they can be read instead;
// unblocks them on destruction. No other thread of the process may take these
// signals. Not thread-safe; destroy it in the thread that created it.
class SignalFd {
 public:
  // ResourceExhausted if the system has no descriptor left.
  static absl::StatusOr<SignalFd> Open(const std::vector<int>& signals);

  SignalFd(SignalFd&&) = default;
  SignalFd& operator=(SignalFd&&) = delete;
  ~SignalFd();

  // Readable when a signal has arrived.
  int fd() const { return fd_.get(); }

  // The signals that have arrived since the last call, each once. Never blocks.
  std::vector<int> Take();

 private:
  SignalFd(FileDescriptor fd, sigset_t before)
      : fd_(std::move(fd)), before_(before) {}

  FileDescriptor fd_;
  sigset_t before_;
};

}  // namespace capstan
