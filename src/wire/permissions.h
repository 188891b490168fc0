// Which role may call which method. The roles are those named by certificates
// (transport/certificate_names.h): chief, worker, ps, evaluator, and admin for
// people. Without TLS a caller is whoever it claims to be, and this check
// catches mistakes only.
// Pure functions; thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "absl/status/status.h"
#include "wire/method.h"

namespace capstan {

// A set of roles.
enum Callers : uint8_t {
  kCallerChief = 1,
  kCallerWorker = 2,
  kCallerPs = 4,
  kCallerEvaluator = 8,
  kCallerAdmin = 16,
  kCallerTrainer = 3,  // chief and workers
  kCallerJoiner = 18,  // workers and admin
  kCallerAny = 31,
};

struct MethodPermission {
  Method method;
  std::string_view name;  // for messages
  Callers callers;
};

// Every method that may be called at all: a method that is not listed is
// refused.
inline constexpr std::array kMethodPermissions = {
    MethodPermission{Method::kProbeEcho, "ProbeEcho", kCallerAny},
    MethodPermission{Method::kProbeSink, "ProbeSink", kCallerAny},
    MethodPermission{Method::kProbeSource, "ProbeSource", kCallerAny},
    MethodPermission{Method::kMemberBeat, "MemberBeat", kCallerChief},
    MethodPermission{Method::kMemberEnd, "MemberEnd", kCallerChief},
    MethodPermission{Method::kTaskStatus, "TaskStatus", kCallerAny},
    MethodPermission{Method::kJobStatus, "JobStatus", kCallerAny},
    MethodPermission{Method::kJobJoin, "JobJoin", kCallerJoiner},
    MethodPermission{Method::kInstall, "Install", kCallerChief},
    MethodPermission{Method::kShardMap, "ShardMap", kCallerAny},
    MethodPermission{Method::kPull, "Pull", kCallerAny},
    MethodPermission{Method::kPush, "Push", kCallerTrainer},
    MethodPermission{Method::kGather, "Gather", kCallerAny},
    MethodPermission{Method::kScatter, "Scatter", kCallerTrainer},
    MethodPermission{Method::kRead, "Read", kCallerAny},
    MethodPermission{Method::kCommit, "Commit", kCallerChief},
    MethodPermission{Method::kTick, "Tick", kCallerChief},
    MethodPermission{Method::kWatermark, "Watermark", kCallerChief},
    MethodPermission{Method::kStoreStatus, "StoreStatus", kCallerAny},
    MethodPermission{Method::kSnapshot, "Snapshot", kCallerChief},
    MethodPermission{Method::kSnapshotRead, "SnapshotRead", kCallerChief},
    MethodPermission{Method::kSnapshotWrite, "SnapshotWrite", kCallerChief},
    MethodPermission{Method::kSnapshotDrop, "SnapshotDrop", kCallerChief},
    MethodPermission{Method::kStageRows, "StageRows", kCallerChief},
    MethodPermission{Method::kStageFile, "StageFile", kCallerChief},
    MethodPermission{Method::kStageCommit, "StageCommit", kCallerChief},
    MethodPermission{Method::kStageDrop, "StageDrop", kCallerChief},
    MethodPermission{Method::kWorkerAttach, "WorkerAttach", kCallerChief},
    MethodPermission{Method::kWorkerRun, "WorkerRun", kCallerChief},
    MethodPermission{Method::kWorkerCancel, "WorkerCancel", kCallerChief},
    MethodPermission{Method::kWorkerMake, "WorkerMake", kCallerChief},
    MethodPermission{Method::kWorkerDrop, "WorkerDrop", kCallerChief},
    MethodPermission{Method::kWorkerStatus, "WorkerStatus", kCallerAny},
    MethodPermission{Method::kDispatchStatus, "DispatchStatus", kCallerAny},
};

// OK if a task or person of `role` may call `method` of a task of `self_role`.
// Otherwise PermissionDenied, naming the method, the caller and who may call
// it. An unknown method or role is denied.
absl::Status CheckPermission(Method method, std::string_view role,
                             std::string_view self_role);

}  // namespace capstan
