// What the tasks of a job tell one another about their membership in it.
//
// The coordinator calls every task a few times per second (kMemberBeat); the
// answer is the task's report. A task follows one coordinator at a time, and
// refuses all others for as long as it hears from that one; they see in its
// report whom it follows. At the end of the job the coordinator says so
// (kMemberEnd), and tasks exit. A worker that is not in the job yet asks to
// join (kJobJoin), and is then called like the others. Thread-safe: values and
// pure functions.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace capstan {

// A coordinator's claim to the job. A coordinator that starts first asks every
// task whom it follows. Once no task hears from another coordinator, it claims
// a term above all that were reported to it. Claims are ordered by term, then
// by holder: if two coordinators start at once, and each holds the same term at
// some of the tasks, the one with the higher incarnation wins.
struct CoordinatorTerm {
  uint64_t term = 0;    // 0: nobody
  uint64_t holder = 0;  // the coordinator's incarnation

  friend auto operator<=>(const CoordinatorTerm&,
                          const CoordinatorTerm&) = default;
};

// Body of kMemberBeat.
struct Beat {
  CoordinatorTerm coordinator_term;  // term 0: only asks, claims nothing
  std::string address;               // where the coordinator listens
  uint64_t program = 0;  // ProgramFingerprint of its definitions; 0: any

  friend bool operator==(const Beat&, const Beat&) = default;
};

// Body of kMemberEnd.
struct EndNotice {
  CoordinatorTerm coordinator_term;
  // Empty: the job has ended. Otherwise why the job continues without this
  // task.
  std::string reason;

  friend bool operator==(const EndNotice&, const EndNotice&) = default;
};

// What a task reports about itself.
struct TaskReport {
  std::string task;  // "ps/0"
  std::string version;
  uint64_t incarnation = 0;
  int64_t pid = 0;
  uint64_t uptime_ms = 0;
  uint64_t resident_bytes = 0;
  CoordinatorTerm coordinator_term;  // whom it follows
  std::string coordinator;           // where that coordinator listens
  // Whether it still hears from that coordinator, which is neither silent nor
  // disconnected, and how long ago it last did.
  bool hears = false;
  uint64_t heard_ms = 0;
  bool insecure = false;  // reachable from other machines without TLS
  // Of a parameter server that holds variables: the generation that they belong
  // to, and the indices of the servers that the job continued without.
  // Otherwise 0, and none.
  uint64_t generation = 0;
  std::vector<uint32_t> left_out = {};
  // Of a worker: ProgramFingerprint of its definitions, and the definitions
  // themselves if its program differs from that of the Beat it answers
  // (wire/program.h). Otherwise none.
  uint64_t program = 0;
  std::vector<std::string> definitions = {};

  friend bool operator==(const TaskReport&, const TaskReport&) = default;
};

// What the coordinator knows about a task. The numbers are on the wire.
enum class TaskState : uint8_t {
  kMissing = 0,      // not seen yet
  kHealthy = 1,      // answers, and is the same process as at first
  kUnreachable = 2,  // did answer; now nothing or another task listens there
  kRestarted = 3,    // answers, but is a different process from the first
  kSilent = 4,       // did answer, and does not now; it may only be paused
};

// "missing", "healthy", ...
std::string_view TaskStateName(TaskState state);

struct TaskEntry {
  std::string task;
  std::string address;
  TaskState state = TaskState::kMissing;
  // How long it has been in this state. For a silent task, how long the
  // coordinator has waited for it, not counting time in which the coordinator
  // itself was stopped.
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

// A worker that asks to join the job, and will answer at this address.
struct JoinRequest {
  std::string address;

  friend bool operator==(const JoinRequest&, const JoinRequest&) = default;
};

// What the worker becomes in the job.
struct JoinReply {
  std::string task;     // "worker/5"
  std::string job;      // the name that it must use
  std::string cluster;  // including itself, as JSON: ClusterSpec::FromJson

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
