#include "wire/membership.h"

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "wire/fence_limits.h"
#include "wire/parse_message.h"
#include "wire/wire.pb.h"

namespace capstan {
namespace {

void FillMessage(wire::CoordinatorTermMessage& message,
                 const CoordinatorTerm& coordinator_term) {
  message.set_term(coordinator_term.term);
  message.set_holder(coordinator_term.holder);
}

CoordinatorTerm Read(const wire::CoordinatorTermMessage& message) {
  return {.term = message.term(), .holder = message.holder()};
}

absl::Status CheckTerm(uint64_t term) {
  if (term < kTermLimit) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "coordinator term ", term, ": terms must be below ", kTermLimit));
}

void FillMessage(wire::TaskReportMessage& message, const TaskReport& report) {
  message.set_task(report.task);
  message.set_version(report.version);
  message.set_incarnation(report.incarnation);
  message.set_pid(report.pid);
  message.set_uptime_ms(report.uptime_ms);
  message.set_resident_bytes(report.resident_bytes);
  FillMessage(*message.mutable_coordinator_term(), report.coordinator_term);
  message.set_insecure(report.insecure);
  message.set_generation(report.generation);
  for (const uint32_t server : report.left_out) message.add_left_out(server);
  message.set_coordinator(report.coordinator);
  message.set_hears(report.hears);
  message.set_heard_ms(report.heard_ms);
  message.set_program(report.program);
  for (const std::string& definition : report.definitions) {
    message.add_definitions(definition);
  }
}

TaskReport Read(const wire::TaskReportMessage& message) {
  TaskReport report;
  report.task = message.task();
  report.version = message.version();
  report.incarnation = message.incarnation();
  report.pid = message.pid();
  report.uptime_ms = message.uptime_ms();
  report.resident_bytes = message.resident_bytes();
  report.coordinator_term = Read(message.coordinator_term());
  report.insecure = message.insecure();
  report.generation = message.generation();
  report.left_out.assign(message.left_out().begin(), message.left_out().end());
  report.coordinator = message.coordinator();
  report.hears = message.hears();
  report.heard_ms = message.heard_ms();
  report.program = message.program();
  report.definitions.assign(message.definitions().begin(),
                            message.definitions().end());
  return report;
}

}  // namespace

std::string_view TaskStateName(TaskState state) {
  switch (state) {
    case TaskState::kMissing:
      return "missing";
    case TaskState::kHealthy:
      return "healthy";
    case TaskState::kUnreachable:
      return "unreachable";
    case TaskState::kRestarted:
      return "restarted";
    case TaskState::kSilent:
      return "silent";
  }
  return "unknown";
}

std::string EncodeBeat(const Beat& beat) {
  wire::BeatMessage message;
  message.set_term(beat.coordinator_term.term);
  message.set_holder(beat.coordinator_term.holder);
  message.set_address(beat.address);
  message.set_program(beat.program);
  return message.SerializeAsString();
}

absl::StatusOr<Beat> DecodeBeat(std::string_view body) {
  wire::BeatMessage message;
  CAPSTAN_RETURN_IF_ERROR(ParseMessage(body, "a beat", message));
  if (message.holder() == 0) {
    return absl::InvalidArgumentError("a beat of nobody");
  }
  CAPSTAN_RETURN_IF_ERROR(CheckTerm(message.term()));
  return Beat{
      .coordinator_term = {.term = message.term(), .holder = message.holder()},
      .address = message.address(),
      .program = message.program()};
}

std::string EncodeEndNotice(const EndNotice& notice) {
  wire::EndMessage message;
  message.set_term(notice.coordinator_term.term);
  message.set_holder(notice.coordinator_term.holder);
  message.set_reason(notice.reason);
  return message.SerializeAsString();
}

absl::StatusOr<EndNotice> DecodeEndNotice(std::string_view body) {
  wire::EndMessage message;
  CAPSTAN_RETURN_IF_ERROR(ParseMessage(body, "the end of a job", message));
  if (message.term() == 0) {
    return absl::InvalidArgumentError(
        "coordinator term 0, which no coordinator holds");
  }
  CAPSTAN_RETURN_IF_ERROR(CheckTerm(message.term()));
  return EndNotice{
      .coordinator_term = {.term = message.term(), .holder = message.holder()},
      .reason = message.reason()};
}

std::string EncodeTaskReport(const TaskReport& report) {
  wire::TaskReportMessage message;
  FillMessage(message, report);
  return message.SerializeAsString();
}

absl::StatusOr<TaskReport> DecodeTaskReport(std::string_view body) {
  wire::TaskReportMessage message;
  CAPSTAN_RETURN_IF_ERROR(ParseMessage(body, "a task's report", message));
  CAPSTAN_RETURN_IF_ERROR(CheckTerm(message.coordinator_term().term()));
  return Read(message);
}

std::string EncodeJobReport(const JobReport& report) {
  wire::JobReportMessage message;
  FillMessage(*message.mutable_coordinator_term(), report.coordinator_term);
  for (const TaskEntry& entry : report.tasks) {
    wire::TaskEntryMessage& task = *message.add_tasks();
    task.set_task(entry.task);
    task.set_address(entry.address);
    task.set_state(static_cast<uint32_t>(entry.state));
    task.set_since_ms(entry.since_ms);
    task.set_restarts(entry.restarts);
    FillMessage(*task.mutable_report(), entry.report);
    task.set_error(entry.error);
  }
  return message.SerializeAsString();
}

absl::StatusOr<JobReport> DecodeJobReport(std::string_view body) {
  wire::JobReportMessage message;
  CAPSTAN_RETURN_IF_ERROR(ParseMessage(body, "a job's report", message));
  JobReport report;
  report.coordinator_term = Read(message.coordinator_term());
  for (const wire::TaskEntryMessage& task : message.tasks()) {
    if (task.state() > static_cast<uint32_t>(TaskState::kSilent)) {
      return absl::InvalidArgumentError(
          absl::StrCat("a job's report with the unknown state ", task.state()));
    }
    TaskEntry entry;
    entry.task = task.task();
    entry.address = task.address();
    entry.state = static_cast<TaskState>(task.state());
    entry.since_ms = task.since_ms();
    entry.restarts = task.restarts();
    entry.report = Read(task.report());
    entry.error = task.error();
    report.tasks.push_back(std::move(entry));
  }
  return report;
}

std::string EncodeJoinRequest(const JoinRequest& request) {
  wire::JoinRequestMessage message;
  message.set_address(request.address);
  return message.SerializeAsString();
}

absl::StatusOr<JoinRequest> DecodeJoinRequest(std::string_view body) {
  wire::JoinRequestMessage message;
  CAPSTAN_RETURN_IF_ERROR(ParseMessage(body, "a request to join", message));
  return JoinRequest{message.address()};
}

std::string EncodeJoinReply(const JoinReply& reply) {
  wire::JoinReplyMessage message;
  message.set_task(reply.task);
  message.set_job(reply.job);
  message.set_cluster(reply.cluster);
  return message.SerializeAsString();
}

absl::StatusOr<JoinReply> DecodeJoinReply(std::string_view body) {
  wire::JoinReplyMessage message;
  CAPSTAN_RETURN_IF_ERROR(
      ParseMessage(body, "an answer to a request to join", message));
  return JoinReply{message.task(), message.job(), message.cluster()};
}

}  // namespace capstan
