#include "wire/closure.h"

#include <span>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "wire/closure.pb.h"
#include "wire/error_body.h"
#include "wire/fence_limits.h"
#include "wire/parse_message.h"

namespace capstan {
namespace {

// The most bytes of what a function threw that are sent: they must fit a body.
constexpr size_t kMaxThrownBytes = 256 << 10;

// Value bytes beyond this many travel as a separate attachment.
constexpr size_t kMostInBody = 64 << 10;

absl::StatusOr<LinkReport> ReadLink(const wire::LinkReportMessage& message) {
  if (message.state() > static_cast<uint32_t>(LinkState::kReady)) {
    return absl::InvalidArgumentError(
        absl::StrCat("a worker in the unknown state ", message.state()));
  }
  LinkReport link;
  link.task = message.task();
  link.state = static_cast<LinkState>(message.state());
  link.in_flight = message.in_flight();
  link.finished = message.finished();
  link.failed = message.failed();
  link.lost = message.lost();
  link.mean_us = message.mean_us();
  link.p99_us = message.p99_us();
  link.error = message.error();
  link.oldest_ms = message.oldest_ms();
  link.oldest_step = message.oldest_step();
  link.oldest_function = message.oldest_function();
  link.making = message.making();
  link.making_ms = message.making_ms();
  return link;
}

void FillLink(wire::LinkReportMessage& message, const LinkReport& link) {
  message.set_task(link.task);
  message.set_state(static_cast<uint32_t>(link.state));
  message.set_in_flight(link.in_flight);
  message.set_finished(link.finished);
  message.set_failed(link.failed);
  message.set_lost(link.lost);
  message.set_mean_us(link.mean_us);
  message.set_p99_us(link.p99_us);
  message.set_error(link.error);
  message.set_oldest_ms(link.oldest_ms);
  message.set_oldest_step(link.oldest_step);
  message.set_oldest_function(link.oldest_function);
  message.set_making(link.making);
  message.set_making_ms(link.making_ms);
}

}  // namespace

std::string_view LinkStateName(LinkState state) {
  switch (state) {
    case LinkState::kConnecting:
      return "connecting";
    case LinkState::kPreparing:
      return "preparing";
    case LinkState::kReady:
      return "ready";
  }
  return "unknown";
}

PackedValue PackValue(const EncodedValue& value) {
  PackedValue packed;
  for (const Tensor& tensor : value.tensors) {
    packed.attachments.push_back(tensor.view().bytes());
  }
  packed.attached = value.bytes.size() > kMostInBody;
  if (packed.attached) {
    packed.attachments.push_back(std::as_bytes(std::span(value.bytes)));
  } else {
    packed.in_body = value.bytes;
  }
  return packed;
}

absl::StatusOr<EncodedValue> UnpackValue(std::string in_body, bool attached,
                                         std::vector<Tensor> received) {
  EncodedValue value;
  value.bytes = std::move(in_body);
  if (attached) {
    if (received.empty()) {
      return absl::InvalidArgumentError("a value whose bytes did not come");
    }
    const Bytes bytes = received.back().view().bytes();
    value.bytes.assign(reinterpret_cast<const char*>(bytes.data()),
                       bytes.size());
    received.pop_back();
  }
  value.tensors = std::move(received);
  return value;
}

std::string EncodeAttachRequest(const AttachRequest& request) {
  wire::AttachRequestMessage message;
  message.set_term(request.coordinator_term.term);
  message.set_holder(request.coordinator_term.holder);
  message.set_session(request.session);
  return message.SerializeAsString();
}

absl::StatusOr<AttachRequest> DecodeAttachRequest(std::string_view body) {
  wire::AttachRequestMessage message;
  CAPSTAN_RETURN_IF_ERROR(
      ParseMessage(body, "an attachment to a worker", message));
  AttachRequest request;
  request.coordinator_term = {.term = message.term(),
                              .holder = message.holder()};
  request.session = message.session();
  if (request.coordinator_term.term == 0 || request.session == 0) {
    return absl::InvalidArgumentError(
        "an attachment to a worker without a term or a session");
  }
  if (request.coordinator_term.term >= kTermLimit) {
    return absl::InvalidArgumentError(absl::StrCat(
        "an attachment to a worker in term ", request.coordinator_term.term,
        ", and terms are below ", kTermLimit));
  }
  return request;
}

std::string EncodeAttachReply(const AttachReply& reply) {
  wire::AttachReplyMessage message;
  message.set_incarnation(reply.incarnation);
  message.set_concurrency(reply.concurrency);
  for (const FunctionInfo& function : reply.functions) {
    wire::FunctionMessage& one = *message.add_functions();
    one.set_name(function.name);
    one.set_signature(function.signature);
    one.set_reads_only(function.options.reads_only);
  }
  for (const ResourceInfo& resource : reply.resources) {
    wire::ResourceMessage& one = *message.add_resources();
    one.set_name(resource.name);
    one.set_type(resource.type);
  }
  message.mutable_made()->Assign(reply.made.begin(), reply.made.end());
  return message.SerializeAsString();
}

absl::StatusOr<AttachReply> DecodeAttachReply(std::string_view body) {
  wire::AttachReplyMessage message;
  CAPSTAN_RETURN_IF_ERROR(ParseMessage(body, "a worker's answer", message));
  AttachReply reply;
  reply.incarnation = message.incarnation();
  reply.concurrency = message.concurrency();
  for (const wire::FunctionMessage& one : message.functions()) {
    reply.functions.push_back({.name = one.name(),
                               .signature = one.signature(),
                               .options = {.reads_only = one.reads_only()}});
  }
  for (const wire::ResourceMessage& one : message.resources()) {
    reply.resources.push_back({.name = one.name(), .type = one.type()});
  }
  reply.made.assign(message.made().begin(), message.made().end());
  return reply;
}

std::string EncodeRunRequest(const RunRequest& request) {
  wire::RunRequestMessage message;
  message.set_session(request.session);
  message.set_function(request.function);
  message.set_generation(request.id.fence.generation);
  message.set_term(request.id.fence.term);
  message.set_step(request.id.step);
  message.set_round(request.id.round);
  message.set_replica(request.id.replica);
  message.set_want_value(request.want_value);
  message.set_arguments(request.arguments);
  message.set_attached(request.attached);
  return message.SerializeAsString();
}

absl::StatusOr<RunRequest> DecodeRunRequest(std::string_view body) {
  wire::RunRequestMessage message;
  CAPSTAN_RETURN_IF_ERROR(ParseMessage(body, "a closure", message));
  RunRequest request;
  request.session = message.session();
  request.function = message.function();
  request.id.fence = {.generation = message.generation(),
                      .term = message.term()};
  request.id.step = message.step();
  request.id.round = message.round();
  request.id.replica = message.replica();
  request.want_value = message.want_value();
  request.arguments = std::move(*message.mutable_arguments());
  request.attached = message.attached();
  return request;
}

std::string EncodeRunReply(const RunReply& reply) {
  wire::RunReplyMessage message;
  message.set_end(static_cast<uint32_t>(reply.end));
  if (!reply.error.ok()) {
    message.set_code(static_cast<uint32_t>(reply.error.code()));
    message.set_error(EncodeErrorBody(reply.error, kMaxThrownBytes));
  }
  message.set_value(reply.value);
  message.set_attached(reply.attached);
  message.set_run_ns(reply.run_ns);
  return message.SerializeAsString();
}

absl::StatusOr<RunReply> DecodeRunReply(std::string_view body) {
  wire::RunReplyMessage message;
  CAPSTAN_RETURN_IF_ERROR(ParseMessage(body, "the end of a closure", message));
  if (message.end() > static_cast<uint32_t>(RunEnd::kLeaving)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a closure that ended in the unknown way ", message.end()));
  }
  RunReply reply;
  reply.end = static_cast<RunEnd>(message.end());
  if (reply.end == RunEnd::kFailed) {
    // Whatever the number, this is a failure.
    const bool known =
        message.code() >= 1 &&
        message.code() <=
            static_cast<uint32_t>(absl::StatusCode::kUnauthenticated);
    const auto unknown = static_cast<uint32_t>(absl::StatusCode::kUnknown);
    reply.error =
        DecodeError(static_cast<uint16_t>(known ? message.code() : unknown),
                    message.error());
  }
  reply.value = std::move(*message.mutable_value());
  reply.attached = message.attached();
  reply.run_ns = message.run_ns();
  return reply;
}

std::string EncodeCancelRequest(const CancelRequest& request) {
  wire::CancelRequestMessage message;
  message.set_session(request.session);
  message.mutable_steps()->Assign(request.steps.begin(), request.steps.end());
  message.set_unless_started(request.unless_started);
  return message.SerializeAsString();
}

absl::StatusOr<CancelRequest> DecodeCancelRequest(std::string_view body) {
  wire::CancelRequestMessage message;
  CAPSTAN_RETURN_IF_ERROR(ParseMessage(body, "a cancellation", message));
  CancelRequest request;
  request.session = message.session();
  request.steps.assign(message.steps().begin(), message.steps().end());
  request.unless_started = message.unless_started();
  return request;
}

std::string EncodeMakeRequest(const MakeRequest& request) {
  wire::MakeRequestMessage message;
  message.set_session(request.session);
  message.set_id(request.id);
  message.set_resource(request.resource);
  message.set_num_input_pipelines(
      static_cast<uint32_t>(request.input.num_input_pipelines));
  message.set_input_pipeline_id(
      static_cast<uint32_t>(request.input.input_pipeline_id));
  message.set_num_replicas_in_sync(
      static_cast<uint32_t>(request.input.num_replicas_in_sync));
  return message.SerializeAsString();
}

absl::StatusOr<MakeRequest> DecodeMakeRequest(std::string_view body) {
  wire::MakeRequestMessage message;
  CAPSTAN_RETURN_IF_ERROR(ParseMessage(body, "a resource to be made", message));
  MakeRequest request;
  request.session = message.session();
  request.id = message.id();
  request.resource = message.resource();
  request.input.num_input_pipelines =
      static_cast<int>(message.num_input_pipelines());
  request.input.input_pipeline_id =
      static_cast<int>(message.input_pipeline_id());
  request.input.num_replicas_in_sync =
      static_cast<int>(message.num_replicas_in_sync());
  return request;
}

std::string EncodeDropRequest(const DropRequest& request) {
  wire::DropRequestMessage message;
  message.set_session(request.session);
  message.mutable_ids()->Assign(request.ids.begin(), request.ids.end());
  return message.SerializeAsString();
}

absl::StatusOr<DropRequest> DecodeDropRequest(std::string_view body) {
  wire::DropRequestMessage message;
  CAPSTAN_RETURN_IF_ERROR(
      ParseMessage(body, "resources to be dropped", message));
  DropRequest request;
  request.session = message.session();
  request.ids.assign(message.ids().begin(), message.ids().end());
  return request;
}

std::string EncodeWorkerReport(const WorkerReport& report) {
  wire::WorkerReportMessage message;
  for (const RunningClosure& running : report.running) {
    wire::RunningMessage& one = *message.add_running();
    one.set_step(running.step);
    one.set_function(running.function);
    one.set_started(running.started);
    one.set_since_ms(running.since_ms);
    one.set_waits_for(running.waits_for);
    one.set_waits_ms(running.waits_ms);
  }
  message.set_finished(report.finished);
  message.set_failed(report.failed);
  message.set_cancelled(report.cancelled);
  return message.SerializeAsString();
}

absl::StatusOr<WorkerReport> DecodeWorkerReport(std::string_view body) {
  wire::WorkerReportMessage message;
  CAPSTAN_RETURN_IF_ERROR(ParseMessage(body, "a worker's report", message));
  WorkerReport report;
  for (const wire::RunningMessage& one : message.running()) {
    RunningClosure running;
    running.step = one.step();
    running.function = one.function();
    running.started = one.started();
    running.since_ms = one.since_ms();
    running.waits_for = one.waits_for();
    running.waits_ms = one.waits_ms();
    report.running.push_back(std::move(running));
  }
  report.finished = message.finished();
  report.failed = message.failed();
  report.cancelled = message.cancelled();
  return report;
}

std::string EncodeDispatchReport(const DispatchReport& report) {
  wire::DispatchReportMessage message;
  message.set_active(report.active);
  message.set_queued(report.queued);
  message.set_in_flight(report.in_flight);
  message.set_finished(report.finished);
  message.set_failed(report.failed);
  message.set_cancelled(report.cancelled);
  message.set_lost_retries(report.lost_retries);
  message.set_server_retries(report.server_retries);
  message.set_leaving_retries(report.leaving_retries);
  message.set_poisoned(report.poisoned);
  message.set_watermark(report.watermark);
  message.set_round(report.round);
  message.set_per_second(report.per_second);
  message.set_error(report.error);
  for (const LinkReport& link : report.workers) {
    FillLink(*message.add_workers(), link);
  }
  return message.SerializeAsString();
}

absl::StatusOr<DispatchReport> DecodeDispatchReport(std::string_view body) {
  wire::DispatchReportMessage message;
  CAPSTAN_RETURN_IF_ERROR(ParseMessage(body, "a report of the queue", message));
  DispatchReport report;
  report.active = message.active();
  report.queued = message.queued();
  report.in_flight = message.in_flight();
  report.finished = message.finished();
  report.failed = message.failed();
  report.cancelled = message.cancelled();
  report.lost_retries = message.lost_retries();
  report.server_retries = message.server_retries();
  report.leaving_retries = message.leaving_retries();
  report.poisoned = message.poisoned();
  report.watermark = message.watermark();
  report.round = message.round();
  report.per_second = message.per_second();
  report.error = message.error();
  for (const wire::LinkReportMessage& one : message.workers()) {
    absl::StatusOr<LinkReport> link = ReadLink(one);
    if (!link.ok()) return link.status();
    report.workers.push_back(*std::move(link));
  }
  return report;
}

}  // namespace capstan
