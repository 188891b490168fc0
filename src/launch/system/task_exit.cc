#include "launch/system/task_exit.h"

#include <string.h>
#include <sys/wait.h>

#include "absl/strings/str_cat.h"

namespace capstan {

std::string DescribeExit(int status) {
  if (!WIFSIGNALED(status)) {
    return absl::StrCat("failed with exit code ", WEXITSTATUS(status));
  }
  const int number = WTERMSIG(status);
  const char* name = sigabbrev_np(number);
  // The real-time signals have no names.
  return name == nullptr ? absl::StrCat("was killed by signal ", number)
                         : absl::StrCat("was killed by SIG", name);
}

int ExitCodeOf(int status) {
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace capstan
