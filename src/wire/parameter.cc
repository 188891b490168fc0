#include "wire/parameter.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "tensor/dtype.h"
#include "wire/fence_fields.h"
#include "wire/parameter.pb.h"
#include "wire/parse_message.h"

namespace capstan {
namespace {

template <typename Message>
absl::Status CheckRecord(const Message& message) {
  if (message.record().size() <= kMaxRecordBytes) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("a record of ", message.record().size(), " bytes; at most ",
                   kMaxRecordBytes, " are kept"));
}

absl::Status CheckLength(const char* what, int length, int parts) {
  if (length == 0 || length == parts) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "a request for ", parts, " shards with ", length, " ", what));
}

absl::Status CheckLengths(const wire::ShardsRequestMessage& message) {
  const int parts = message.variables_size();
  if (message.shards_size() != parts) {
    return absl::InvalidArgumentError(
        absl::StrCat("a request for shards of ", parts, " variables with ",
                     message.shards_size(), " shards"));
  }
  CAPSTAN_RETURN_IF_ERROR(
      CheckLength("versions", message.versions_size(), parts));
  CAPSTAN_RETURN_IF_ERROR(
      CheckLength("dtypes", static_cast<int>(message.dtypes().size()), parts));
  CAPSTAN_RETURN_IF_ERROR(CheckLength("scales", message.scales_size(), parts));
  if (message.operation() >= kOperations) {
    return absl::InvalidArgumentError(
        absl::StrCat("the unknown operation ", message.operation()));
  }
  return absl::OkStatus();
}

absl::StatusOr<ShardPart> ReadPart(const wire::ShardsRequestMessage& message,
                                   int i) {
  ShardPart part;
  part.key = {.variable = message.variables(i), .shard = message.shards(i)};
  if (message.versions_size() > 0) part.version = message.versions(i);
  if (message.scales_size() > 0) part.scale = message.scales(i);
  if (!std::isfinite(part.scale)) {
    return absl::InvalidArgumentError(absl::StrCat("a gradient of variable ",
                                                   part.key.variable,
                                                   " scaled by ", part.scale));
  }
  if (!message.dtypes().empty()) {
    const absl::StatusOr<DType> dtype = DTypeFromCode(
        static_cast<uint8_t>(message.dtypes()[static_cast<size_t>(i)]));
    if (!dtype.ok()) return dtype.status();
    part.dtype = *dtype;
  }
  return part;
}

void FillVariable(wire::VariableReportMessage& message,
                  const VariableReport& report) {
  message.set_name(report.name);
  message.set_shard(report.shard);
  message.set_bytes(report.bytes);
  message.set_version(report.version);
  message.set_applied(report.applied);
  message.set_duplicates(report.duplicates);
  message.set_dropped(report.dropped);
  message.set_skipped(report.skipped);
  message.set_refused(report.refused);
  message.mutable_staleness()->Assign(report.staleness.begin(),
                                      report.staleness.end());
}

VariableReport ReadVariable(const wire::VariableReportMessage& message) {
  VariableReport report;
  report.name = message.name();
  report.shard = message.shard();
  report.bytes = message.bytes();
  report.version = message.version();
  report.applied = message.applied();
  report.duplicates = message.duplicates();
  report.dropped = message.dropped();
  report.skipped = message.skipped();
  report.refused = message.refused();
  const size_t buckets = std::min(
      report.staleness.size(), static_cast<size_t>(message.staleness_size()));
  std::copy_n(message.staleness().begin(), buckets, report.staleness.begin());
  return report;
}

}  // namespace

std::string_view OperationName(Operation operation) {
  constexpr std::array<std::string_view, kOperations> kNames = {
      "gradient", "set", "add", "sub", "mul", "div", "min", "max"};
  return kNames[static_cast<size_t>(operation)];
}

std::string EncodeShardsRequest(const ShardsRequest& request) {
  wire::ShardsRequestMessage message;
  FillFence(message, request.id.fence);
  message.set_step(request.id.step);
  message.set_push(request.id.push);
  message.set_round(request.id.round);
  message.set_replica(request.id.replica);
  message.set_map_version(request.map_version);
  message.set_operation(static_cast<uint32_t>(request.operation));
  message.set_want_values(request.want_values);
  const int count = static_cast<int>(request.parts.size());
  message.mutable_variables()->Reserve(count);
  message.mutable_shards()->Reserve(count);
  // Omits what is the same in all parts of most requests.
  const auto any = [&](auto differs) {
    return std::any_of(request.parts.begin(), request.parts.end(), differs);
  };
  const bool versions = any([](const ShardPart& p) { return p.version != 0; });
  const bool dtypes =
      any([](const ShardPart& p) { return p.dtype != DType::kF32; });
  const bool scales = any([](const ShardPart& p) { return p.scale != 1; });
  for (const ShardPart& part : request.parts) {
    message.add_variables(part.key.variable);
    message.add_shards(part.key.shard);
    if (versions) message.add_versions(part.version);
    if (scales) message.add_scales(part.scale);
    if (dtypes) {
      message.mutable_dtypes()->push_back(
          static_cast<char>(CodeOf(part.dtype)));
    }
  }
  return message.SerializeAsString();
}

absl::StatusOr<ShardsRequest> DecodeShardsRequest(std::string_view body) {
  wire::ShardsRequestMessage message;
  CAPSTAN_RETURN_IF_ERROR(ParseMessage(body, "a request for shards", message));
  CAPSTAN_RETURN_IF_ERROR(CheckLengths(message));
  ShardsRequest request;
  request.id.fence = ReadFence(message);
  request.id.step = message.step();
  request.id.push = message.push();
  request.id.round = message.round();
  request.id.replica = message.replica();
  request.map_version = message.map_version();
  request.operation = static_cast<Operation>(message.operation());
  request.want_values = message.want_values();
  request.parts.reserve(static_cast<size_t>(message.variables_size()));
  for (int i = 0; i < message.variables_size(); ++i) {
    absl::StatusOr<ShardPart> part = ReadPart(message, i);
    if (!part.ok()) return part.status();
    // Each shard once, and in one order everywhere: see server/push.cc.
    if (i > 0 && !(request.parts.back().key < part->key)) {
      return absl::InvalidArgumentError(
          absl::StrCat("a request whose shards do not ascend: shard ",
                       part->key.shard, " of variable ", part->key.variable,
                       " after shard ", request.parts.back().key.shard,
                       " of variable ", request.parts.back().key.variable));
    }
    request.parts.push_back(*part);
  }
  return request;
}

std::string EncodeShardsReply(const ShardsReply& reply) {
  wire::ShardsReplyMessage message;
  message.mutable_versions()->Assign(reply.versions.begin(),
                                     reply.versions.end());
  for (const Outcome outcome : reply.outcomes) {
    message.mutable_outcomes()->push_back(static_cast<char>(outcome));
  }
  return message.SerializeAsString();
}

absl::StatusOr<ShardsReply> DecodeShardsReply(std::string_view body) {
  wire::ShardsReplyMessage message;
  CAPSTAN_RETURN_IF_ERROR(ParseMessage(body, "an answer for shards", message));
  ShardsReply reply;
  reply.versions.assign(message.versions().begin(), message.versions().end());
  for (const char outcome : message.outcomes()) {
    if (static_cast<uint8_t>(outcome) >= kOutcomes) {
      return absl::InvalidArgumentError(
          absl::StrCat("the unknown outcome ", static_cast<int>(outcome)));
    }
    reply.outcomes.push_back(static_cast<Outcome>(outcome));
  }
  return reply;
}

std::string EncodeReadRequest(const ReadRequest& request) {
  wire::ReadRequestMessage message;
  message.set_generation(request.generation);
  message.set_map_version(request.map_version);
  message.set_variable(request.key.variable);
  message.set_shard(request.key.shard);
  message.set_begin(request.begin);
  message.set_end(request.end);
  message.set_slot(request.slot);
  return message.SerializeAsString();
}

absl::StatusOr<ReadRequest> DecodeReadRequest(std::string_view body) {
  wire::ReadRequestMessage message;
  CAPSTAN_RETURN_IF_ERROR(ParseMessage(body, "a request for rows", message));
  ReadRequest request;
  request.generation = message.generation();
  request.map_version = message.map_version();
  request.key = {.variable = message.variable(), .shard = message.shard()};
  request.begin = message.begin();
  request.end = message.end();
  request.slot = message.slot();
  return request;
}

std::string EncodeRoundRequest(const RoundRequest& request) {
  wire::RoundMessage message;
  FillFence(message, request.fence);
  message.set_round(request.round);
  message.mutable_replicas()->Assign(request.replicas.begin(),
                                     request.replicas.end());
  return message.SerializeAsString();
}

absl::StatusOr<RoundRequest> DecodeRoundRequest(std::string_view body) {
  wire::RoundMessage message;
  CAPSTAN_RETURN_IF_ERROR(ParseMessage(body, "a round", message));
  RoundRequest request;
  request.fence = ReadFence(message);
  request.round = message.round();
  request.replicas.assign(message.replicas().begin(), message.replicas().end());
  if (request.round == 0) {
    return absl::InvalidArgumentError("a round 0: they count from 1 on");
  }
  return request;
}

std::string EncodeWatermarkRequest(const WatermarkRequest& request) {
  wire::WatermarkMessage message;
  FillFence(message, request.fence);
  message.set_watermark(request.watermark);
  message.set_record(request.record);
  return message.SerializeAsString();
}

absl::StatusOr<WatermarkRequest> DecodeWatermarkRequest(std::string_view body) {
  wire::WatermarkMessage message;
  CAPSTAN_RETURN_IF_ERROR(ParseMessage(body, "a watermark", message));
  CAPSTAN_RETURN_IF_ERROR(CheckRecord(message));
  WatermarkRequest request;
  request.fence = ReadFence(message);
  request.watermark = message.watermark();
  request.record = message.record();
  return request;
}

std::string EncodeInstallRequest(const InstallRequest& request) {
  wire::InstallMessage message;
  message.set_term(request.term);
  message.set_watermark(request.watermark);
  message.set_map(request.map);
  message.set_record(request.record);
  message.set_follows(request.follows);
  return message.SerializeAsString();
}

absl::StatusOr<InstallRequest> DecodeInstallRequest(std::string_view body) {
  wire::InstallMessage message;
  CAPSTAN_RETURN_IF_ERROR(
      ParseMessage(body, "a shard map to install", message));
  CAPSTAN_RETURN_IF_ERROR(CheckRecord(message));
  InstallRequest request;
  request.term = message.term();
  request.watermark = message.watermark();
  request.map = message.map();
  request.record = message.record();
  request.follows = message.follows();
  return request;
}

std::string EncodeStoreReport(const StoreReport& report) {
  wire::StoreReportMessage message;
  FillFence(message, report.fence);
  message.set_map_version(report.map_version);
  message.set_watermark(report.watermark);
  message.set_committed_round(report.committed_round);
  for (const uint32_t replica : report.committed_replicas) {
    message.add_committed_replicas(replica);
  }
  message.set_bytes_used(report.bytes_used);
  message.set_bytes_limit(report.bytes_limit);
  message.set_fenced(report.fenced);
  message.set_last_step(report.last_step);
  for (const uint32_t server : report.left_out) message.add_left_out(server);
  message.set_record(report.record);
  for (const VariableReport& variable : report.variables) {
    FillVariable(*message.add_variables(), variable);
  }
  return message.SerializeAsString();
}

absl::StatusOr<StoreReport> DecodeStoreReport(std::string_view body) {
  wire::StoreReportMessage message;
  CAPSTAN_RETURN_IF_ERROR(ParseMessage(body, "a server's report", message));
  StoreReport report;
  report.fence = ReadFence(message);
  report.map_version = message.map_version();
  report.watermark = message.watermark();
  report.committed_round = message.committed_round();
  report.committed_replicas.assign(message.committed_replicas().begin(),
                                   message.committed_replicas().end());
  report.bytes_used = message.bytes_used();
  report.bytes_limit = message.bytes_limit();
  report.fenced = message.fenced();
  report.last_step = message.last_step();
  report.left_out.assign(message.left_out().begin(), message.left_out().end());
  report.record = message.record();
  for (const wire::VariableReportMessage& variable : message.variables()) {
    report.variables.push_back(ReadVariable(variable));
  }
  return report;
}

}  // namespace capstan
