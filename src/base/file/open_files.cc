#include "base/file/open_files.h"

#include <sys/resource.h>

#include <algorithm>
#include <cerrno>

#include "absl/strings/str_cat.h"

namespace capstan {

void RaiseOpenFileLimit() {
  // More sockets than a task may have connections. Not unlimited: some programs
  // that user code starts close every descriptor number up to the limit.
  constexpr rlim_t kEnough = 65'536;
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  if (limit.rlim_cur >= std::min(kEnough, limit.rlim_max)) return;
  limit.rlim_cur = std::min(kEnough, limit.rlim_max);
  (void)setrlimit(RLIMIT_NOFILE, &limit);
}

std::string OpenFilesRemedy(int error) {
  if (error == ENFILE) {
    return " (all processes of this machine together: run, as root, sysctl -w "
           "fs.file-max=4000000)";
  }
  rlimit limit = {};
  if (error != EMFILE || getrlimit(RLIMIT_NOFILE, &limit) != 0) return "";
  // Not with fmt: UBSan needs a descriptor to check its virtual calls.
  return absl::StrCat(" (the limit of this process is ", limit.rlim_cur,
                      "; raise it: nofile in /etc/security/limits.conf, "
                      "LimitNOFILE= of systemd, or --ulimit nofile of the "
                      "container)");
}

}  // namespace capstan
