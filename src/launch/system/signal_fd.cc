#include "launch/system/signal_fd.h"

#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>

#include "absl/strings/str_cat.h"

namespace capstan {

absl::StatusOr<SignalFd> SignalFd::Open(const std::vector<int>& signals) {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal_number : signals) sigaddset(&set, signal_number);
  FileDescriptor fd(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!fd.valid()) {
    return absl::ResourceExhaustedError(
        absl::StrCat("signalfd: ", strerror(errno)));
  }
  sigset_t before;
  pthread_sigmask(SIG_BLOCK, &set, &before);
  return SignalFd(std::move(fd), before);
}

SignalFd::~SignalFd() {
  if (!fd_.valid()) return;  // moved from
  // Otherwise a late signal would be delivered to the caller now.
  Take();
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

std::vector<int> SignalFd::Take() {
  std::vector<int> signals;
  signalfd_siginfo info;
  while (read(fd_.get(), &info, sizeof(info)) == sizeof(info)) {
    signals.push_back(static_cast<int>(info.ssi_signo));
  }
  return signals;
}

}  // namespace capstan
