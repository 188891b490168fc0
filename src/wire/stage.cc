// The bodies of the methods that restore.
#include "base/status.h"
#include "wire/parse_message.h"
#include "wire/snapshot.h"
#include "wire/snapshot.pb.h"
#include "wire/snapshot_fields.h"

namespace capstan {

std::string EncodeStageRowsRequest(const StageRowsRequest& request) {
  wire::StageRowsMessage message;
  FillFence(message, request.fence);
  message.set_restore_id(request.restore_id);
  FillKey(message, request.key);
  message.set_map_version(request.map_version);
  message.set_slot(request.slot);
  message.set_begin(request.begin);
  message.set_end(request.end);
  return message.SerializeAsString();
}

absl::StatusOr<StageRowsRequest> DecodeStageRowsRequest(std::string_view body) {
  wire::StageRowsMessage message;
  CAPSTAN_RETURN_IF_ERROR(
      ParseMessage(body, "a request to stage rows", message));
  CAPSTAN_RETURN_IF_ERROR(CheckId("restore id", message.restore_id()));
  StageRowsRequest request;
  request.fence = ReadFence(message);
  request.restore_id = message.restore_id();
  request.key = ReadKey(message);
  request.map_version = message.map_version();
  request.slot = message.slot();
  request.begin = message.begin();
  request.end = message.end();
  return request;
}

std::string EncodeStageFileRequest(const StageFileRequest& request) {
  wire::StageFileMessage message;
  FillFence(message, request.fence);
  message.set_restore_id(request.restore_id);
  message.set_map_version(request.map_version);
  FillDirectory(*message.mutable_directory(), request.directory);
  message.set_save_id(request.save_id);
  message.set_file(request.file);
  message.set_bytes(request.bytes);
  message.set_crc32c(request.crc32c);
  FillTensors(message, request.tensors);
  for (const StageCopy& copy : request.copies) {
    wire::StageCopyMessage& added = *message.add_copies();
    added.set_tensor(copy.tensor);
    FillKey(added, copy.key);
    added.set_slot(copy.slot);
    added.set_source_row(copy.source_row);
    added.set_rows(copy.rows);
    added.set_target_row(copy.target_row);
  }
  return message.SerializeAsString();
}

absl::StatusOr<StageFileRequest> DecodeStageFileRequest(std::string_view body) {
  wire::StageFileMessage message;
  CAPSTAN_RETURN_IF_ERROR(
      ParseMessage(body, "a request to stage a file", message));
  CAPSTAN_RETURN_IF_ERROR(CheckId("restore id", message.restore_id()));
  StageFileRequest request;
  request.fence = ReadFence(message);
  request.restore_id = message.restore_id();
  request.map_version = message.map_version();
  request.directory = ReadDirectory(message.directory());
  request.save_id = message.save_id();
  request.file = message.file();
  request.bytes = message.bytes();
  request.crc32c = message.crc32c();
  request.tensors = ReadTensors(message);
  request.copies.reserve(static_cast<size_t>(message.copies_size()));
  for (const wire::StageCopyMessage& read : message.copies()) {
    StageCopy& copy = request.copies.emplace_back();
    copy.tensor = read.tensor();
    copy.key = ReadKey(read);
    copy.slot = read.slot();
    copy.source_row = read.source_row();
    copy.rows = read.rows();
    copy.target_row = read.target_row();
  }
  return request;
}

std::string EncodeStageCommitRequest(const StageCommitRequest& request) {
  wire::StageCommitMessage message;
  FillFence(message, request.fence);
  message.set_restore_id(request.restore_id);
  message.set_map_version(request.map_version);
  for (const StageShard& shard : request.shards) {
    wire::StageShardMessage& added = *message.add_shards();
    FillKey(added, shard.key);
    added.set_updates(shard.updates);
    added.set_momentum_product(shard.momentum_product);
    added.set_slots(shard.slots);
  }
  return message.SerializeAsString();
}

absl::StatusOr<StageCommitRequest> DecodeStageCommitRequest(
    std::string_view body) {
  wire::StageCommitMessage message;
  CAPSTAN_RETURN_IF_ERROR(
      ParseMessage(body, "a request to commit what was staged", message));
  CAPSTAN_RETURN_IF_ERROR(CheckId("restore id", message.restore_id()));
  StageCommitRequest request;
  request.fence = ReadFence(message);
  request.restore_id = message.restore_id();
  request.map_version = message.map_version();
  request.shards.reserve(static_cast<size_t>(message.shards_size()));
  for (const wire::StageShardMessage& read : message.shards()) {
    StageShard shard;
    shard.key = ReadKey(read);
    shard.updates = read.updates();
    shard.momentum_product = read.momentum_product();
    shard.slots = read.slots();
    CAPSTAN_RETURN_IF_ERROR(
        CheckMomentumProduct(shard.key, shard.momentum_product));
    CAPSTAN_RETURN_IF_ERROR(CheckAscends(
        request.shards.empty() ? nullptr : &request.shards.back().key,
        shard.key));
    request.shards.push_back(shard);
  }
  return request;
}

std::string EncodeStageDropRequest(const StageDropRequest& request) {
  wire::StageDropMessage message;
  FillFence(message, request.fence);
  message.set_restore_id(request.restore_id);
  return message.SerializeAsString();
}

absl::StatusOr<StageDropRequest> DecodeStageDropRequest(std::string_view body) {
  wire::StageDropMessage message;
  CAPSTAN_RETURN_IF_ERROR(
      ParseMessage(body, "a request to drop what was staged", message));
  StageDropRequest request;
  request.fence = ReadFence(message);
  request.restore_id = message.restore_id();
  return request;
}

}  // namespace capstan
