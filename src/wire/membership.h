// What the tasks of a job tell one another about being in it.
//
// The coordinator calls every task a few times per second (kMemberBeat); the
// answer is the task's report. A task obeys one coordinator at a time, and for
// as long as it hears that one it refuses all others; they see in its report
// whom it obeys. At the end of the job the coordinator says so (kMemberEnd),
// and tasks exit. A worker that is not in the job yet asks to be (kJobJoin),
// and is called like the others from then on. Thread-safe: values and pure
// functions.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace capstan {

// A coordinator's claim to the job. One that starts first asks every task whom
// it obeys. Once none of them hears another coordinator, it claims a term above
// all that it was told of. Terms are ordered by term, then by holder: of two
// coordinators that start at once, each in the same term with a part of the
// tasks, the one with the higher incarnation remains.
struct CoordinatorTerm {
  uint64_t term = 0;    // 0: nobody
  uint64_t holder = 0;  // the coordinator's incarnation

  friend auto operator<=>(const CoordinatorTerm&,
                          const CoordinatorTerm&) = default;
};

// Body of kMemberBeat.
struct Beat {
  CoordinatorTerm coordinator_term;  // of term 0: asks, and claims nothing
  std::string address;               // where the coordinator listens
  uint64_t program = 0;  // ProgramFingerprint of its definitions; 0: any

  friend bool operator==(const Beat&, const Beat&) = default;
};

// Body of kMemberEnd.
struct EndNotice {
  CoordinatorTerm coordinator_term;
  // Empty: the job is over. Else why the job continues without this task.
  std::string reason;

  friend bool operator==(const EndNotice&, const EndNotice&) = default;
};

// What a task says of itself.
struct TaskReport {
  std::string task;  // "ps/0"
  std::string version;
  uint64_t incarnation = 0;
  int64_t pid = 0;
  uint64_t uptime_ms = 0;
  uint64_t resident_bytes = 0;
  CoordinatorTerm coordinator_term;  // whom it obeys
  std::string coordinator;           // where that one listens
  // Whether it still hears that one, which is neither silent nor disconnected,
  // and how long ago it last did.
  bool hears = false;
  uint64_t heard_ms = 0;
  bool insecure = false;  // reachable from other machines without TLS
  // Of a parameter server that holds variables: which history they are of, and
  // the indices of the servers that it has gone on without. Else 0, and none.
  uint64_t generation = 0;
  std::vector<uint32_t> left_out = {};
  // Of a worker: ProgramFingerprint of its definitions, and those themselves if
  // its program is not that of the Beat it answers (wire/program.h). Else none.
  uint64_t program = 0;
  std::vector<std::string> definitions = {};

  friend bool operator==(const TaskReport&, const TaskReport&) = default;
};

// What the coordinator knows of a task. The numbers are on the wire.
enum class TaskState : uint8_t {
  kMissing = 0,      // not seen yet
  kHealthy = 1,      // answers, and is the process that first did
  kUnreachable = 2,  // did answer; now nobody listens there, or a stranger
  kRestarted = 3,    // answers, and is another process than at first
  kSilent = 4,       // did answer, and does not now; it may be only paused
};

// "missing", "healthy", ...
std::string_view TaskStateName(TaskState state);

struct TaskEntry {
  std::string task;
  std::string address;
  TaskState state = TaskState::kMissing;
  // How long it has been in this state. Of a silent one, how long it has been
  // waited for: time in which the coordinator itself was stopped is left out.
  uint64_t since_ms = 0;
  uint32_t restarts = 0;
  TaskReport report;  // the last one; empty if it is missing
  std::string error;  // why it is missing, unreachable or silent

  friend bool operator==(const TaskEntry&, const TaskEntry&) = default;
};

struct JobReport {
  CoordinatorTerm coordinator_term;
  std::vector<TaskEntry> tasks;

  friend bool operator==(const JobReport&, const JobReport&) = default;
};

// A worker that wants to be in the job, which will answer at this address.
struct JoinRequest {
  std::string address;

  friend bool operator==(const JoinRequest&, const JoinRequest&) = default;
};

// What it becomes there.
struct JoinReply {
  std::string task;     // "worker/5"
  std::string job;      // the name that it must give
  std::string cluster;  // with itself in it, as JSON: ClusterSpec::FromJson

  friend bool operator==(const JoinReply&, const JoinReply&) = default;
};

// The bodies. Decoding fails with InvalidArgument.
std::string EncodeBeat(const Beat& beat);
absl::StatusOr<Beat> DecodeBeat(std::string_view body);
std::string EncodeEndNotice(const EndNotice& notice);
absl::StatusOr<EndNotice> DecodeEndNotice(std::string_view body);
std::string EncodeTaskReport(const TaskReport& report);
absl::StatusOr<TaskReport> DecodeTaskReport(std::string_view body);
std::string EncodeJobReport(const JobReport& report);
absl::StatusOr<JobReport> DecodeJobReport(std::string_view body);
std::string EncodeJoinRequest(const JoinRequest& request);
absl::StatusOr<JoinRequest> DecodeJoinRequest(std::string_view body);
std::string EncodeJoinReply(const JoinReply& reply);
absl::StatusOr<JoinReply> DecodeJoinReply(std::string_view body);

}  // namespace capstan
