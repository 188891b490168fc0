#pragma once

#include "launch/member_task.h"

namespace capstan {

// Serves until the job ends, the coordinator is gone for too long, or the
// process is told to end by SIGTERM or SIGINT. Returns the process's exit code:
// 0, 1 (and says why in one line), or 128 and the signal's number.
int RunMember(MemberTask& task);

}  // namespace capstan
