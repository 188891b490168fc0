#pragma once

#include "launch/member_task.h"

namespace capstan {

// Serves until the job ends, the coordinator is gone for too long, or SIGTERM
// or SIGINT tells the process to end. Returns the process's exit code: 0; 1,
// after printing the reason in one line; or 128 plus the signal's number.
int RunMember(MemberTask& task);

}  // namespace capstan
