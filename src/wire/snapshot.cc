#include "wire/snapshot.h"

#include "base/status.h"
#include "wire/parse_message.h"
#include "wire/snapshot.pb.h"
#include "wire/snapshot_fields.h"

namespace capstan {

void FillDirectory(wire::SharedDirectoryMessage& message,
                   const SharedDirectory& directory) {
  for (const std::string& name : directory.path) message.add_path(name);
  message.set_probe(directory.probe);
  message.set_probe_content(directory.probe_content);
}

SharedDirectory ReadDirectory(const wire::SharedDirectoryMessage& message) {
  SharedDirectory directory;
  directory.path.assign(message.path().begin(), message.path().end());
  directory.probe = message.probe();
  directory.probe_content = message.probe_content();
  return directory;
}

std::string EncodeSnapshotRequest(const SnapshotRequest& request) {
  wire::SnapshotRequestMessage message;
  FillFence(message, request.fence);
  message.set_save_id(request.save_id);
  return message.SerializeAsString();
}

absl::StatusOr<SnapshotRequest> DecodeSnapshotRequest(std::string_view body) {
  wire::SnapshotRequestMessage message;
  CAPSTAN_RETURN_IF_ERROR(
      ParseMessage(body, "a request for a snapshot", message));
  CAPSTAN_RETURN_IF_ERROR(CheckId("save id", message.save_id()));
  SnapshotRequest request;
  request.fence = ReadFence(message);
  request.save_id = message.save_id();
  return request;
}

std::string EncodeSnapshotReply(const SnapshotReply& reply) {
  wire::SnapshotReplyMessage message;
  message.set_copied(reply.copied);
  message.set_watermark(reply.watermark);
  message.set_committed_round(reply.committed_round);
  for (const SnapshotShard& shard : reply.shards) {
    wire::SnapshotShardMessage& added = *message.add_shards();
    FillKey(added, shard.key);
    added.set_version(shard.version);
    added.set_updates(shard.updates);
    added.set_momentum_product(shard.momentum_product);
    added.set_applied(shard.applied);
  }
  return message.SerializeAsString();
}

absl::StatusOr<SnapshotReply> DecodeSnapshotReply(std::string_view body) {
  wire::SnapshotReplyMessage message;
  CAPSTAN_RETURN_IF_ERROR(ParseMessage(body, "a snapshot", message));
  SnapshotReply reply;
  reply.copied = message.copied();
  reply.watermark = message.watermark();
  reply.committed_round = message.committed_round();
  reply.shards.reserve(static_cast<size_t>(message.shards_size()));
  for (const wire::SnapshotShardMessage& read : message.shards()) {
    SnapshotShard shard;
    shard.key = ReadKey(read);
    shard.version = read.version();
    shard.updates = read.updates();
    shard.momentum_product = read.momentum_product();
    shard.applied = read.applied();
    CAPSTAN_RETURN_IF_ERROR(
        CheckMomentumProduct(shard.key, shard.momentum_product));
    CAPSTAN_RETURN_IF_ERROR(CheckAscends(
        reply.shards.empty() ? nullptr : &reply.shards.back().key, shard.key));
    reply.shards.push_back(shard);
  }
  return reply;
}

std::string EncodeSnapshotReadRequest(const SnapshotReadRequest& request) {
  wire::SnapshotReadMessage message;
  FillFence(message, request.fence);
  message.set_save_id(request.save_id);
  FillKey(message, request.key);
  message.set_slot(request.slot);
  message.set_begin(request.begin);
  message.set_end(request.end);
  return message.SerializeAsString();
}

absl::StatusOr<SnapshotReadRequest> DecodeSnapshotReadRequest(
    std::string_view body) {
  wire::SnapshotReadMessage message;
  CAPSTAN_RETURN_IF_ERROR(
      ParseMessage(body, "a request for rows of a snapshot", message));
  CAPSTAN_RETURN_IF_ERROR(CheckId("save id", message.save_id()));
  SnapshotReadRequest request;
  request.fence = ReadFence(message);
  request.save_id = message.save_id();
  request.key = ReadKey(message);
  request.slot = message.slot();
  request.begin = message.begin();
  request.end = message.end();
  return request;
}

std::string EncodeSnapshotWriteRequest(const SnapshotWriteRequest& request) {
  wire::SnapshotWriteMessage message;
  FillFence(message, request.fence);
  message.set_save_id(request.save_id);
  FillDirectory(*message.mutable_directory(), request.directory);
  message.set_file(request.file);
  return message.SerializeAsString();
}

absl::StatusOr<SnapshotWriteRequest> DecodeSnapshotWriteRequest(
    std::string_view body) {
  wire::SnapshotWriteMessage message;
  CAPSTAN_RETURN_IF_ERROR(
      ParseMessage(body, "a request to write a snapshot", message));
  CAPSTAN_RETURN_IF_ERROR(CheckId("save id", message.save_id()));
  SnapshotWriteRequest request;
  request.fence = ReadFence(message);
  request.save_id = message.save_id();
  request.directory = ReadDirectory(message.directory());
  request.file = message.file();
  return request;
}

std::string EncodeSnapshotWriteReply(const SnapshotWriteReply& reply) {
  wire::SnapshotWriteReplyMessage message;
  message.set_bytes(reply.bytes);
  message.set_crc32c(reply.crc32c);
  FillTensors(message, reply.tensors);
  return message.SerializeAsString();
}

absl::StatusOr<SnapshotWriteReply> DecodeSnapshotWriteReply(
    std::string_view body) {
  wire::SnapshotWriteReplyMessage message;
  CAPSTAN_RETURN_IF_ERROR(ParseMessage(body, "a written snapshot", message));
  SnapshotWriteReply reply;
  reply.bytes = message.bytes();
  reply.crc32c = message.crc32c();
  reply.tensors = ReadTensors(message);
  return reply;
}

}  // namespace capstan
