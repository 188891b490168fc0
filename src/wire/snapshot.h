// What a coordinator asks of a parameter server to save and to restore: the
// bodies. docs/consistency.md says what the answers promise.
//
// Saving: a snapshot holds all shards of a server as they are at one moment,
// while training continues; it is then read, or the server writes it to a file.
// Restoring: rows are staged beside the live shards, from requests or from
// files, and replace them all at once.
//
// Every request may be repeated. Thread-safe: values and pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "wire/parameter.h"

namespace capstan {

// Body of kSnapshot, which makes a snapshot named `save_id` (not 0) in place of
// any other, and of kSnapshotDrop, which drops it.
struct SnapshotRequest {
  Fence fence;
  uint64_t save_id = 0;
  friend bool operator==(const SnapshotRequest&,
                         const SnapshotRequest&) = default;
};

// A shard in a snapshot.
struct SnapshotShard {
  ShardKey key;
  uint64_t version = 0;
  uint64_t updates = 0;         // OptimizerState::updates
  double momentum_product = 1;  // OptimizerState::momentum_product
  uint64_t applied = 0;         // VariableReport::applied
  friend bool operator==(const SnapshotShard&, const SnapshotShard&) = default;
};

// Answer to kSnapshot. The shards ascend by key; those without values yet are
// left out.
struct SnapshotReply {
  // Whether there is memory for updates from now on. If not, updates may be
  // refused for lack of memory until the snapshot is dropped; the snapshot does
  // not change in either case.
  bool copied = false;
  uint64_t watermark = 0;
  uint64_t committed_round = 0;
  std::vector<SnapshotShard> shards = {};
  friend bool operator==(const SnapshotReply&, const SnapshotReply&) = default;
};

// Body of kSnapshotRead: rows [begin, end) of a shard in the snapshot, counted
// from its first, as one attachment. `slot` as in ReadRequest. NotFound if
// there is no such snapshot, or it does not have the shard.
struct SnapshotReadRequest {
  Fence fence;
  uint64_t save_id = 0;
  ShardKey key;
  uint32_t slot = 0;
  uint64_t begin = 0;
  uint64_t end = 0;
  friend bool operator==(const SnapshotReadRequest&,
                         const SnapshotReadRequest&) = default;
};

// A directory that both the caller and the server should see, named by its path
// below the server's checkpoint root. The proof that they do is the file
// `probe` in it, which the caller has created with `probe_content`.
//
// The path has at most this many names, each as CheckFileName requires
// (checkpoint/manifest.h), except that the last, a checkpoint's, may begin with
// ".tmp-". It is a place for checkpoints, not a tree.
inline constexpr size_t kMostDirectoryNames = 16;
struct SharedDirectory {
  std::vector<std::string> path = {};
  std::string probe = {};
  std::string probe_content = {};
  friend bool operator==(const SharedDirectory&,
                         const SharedDirectory&) = default;
};

// A tensor in a file, with the CRC-32C of its bytes.
struct TensorSum {
  std::string name = {};
  uint32_t crc32c = 0;
  friend bool operator==(const TensorSum&, const TensorSum&) = default;
};

// Body of kSnapshotWrite: the server writes its snapshot as the new file `file`
// in `directory`, and syncs it. NotFound if it has no root, does not see the
// directory, or has no such snapshot. Replaces a file of that name that an
// earlier attempt has left.
struct SnapshotWriteRequest {
  Fence fence;
  uint64_t save_id = 0;
  SharedDirectory directory;
  std::string file = {};
  friend bool operator==(const SnapshotWriteRequest&,
                         const SnapshotWriteRequest&) = default;
};

// What was written; the tensors are in file order.
struct SnapshotWriteReply {
  uint64_t bytes = 0;
  uint32_t crc32c = 0;
  std::vector<TensorSum> tensors = {};
  friend bool operator==(const SnapshotWriteReply&,
                         const SnapshotWriteReply&) = default;
};

// Body of kStageRows: the one attachment is rows [begin, end) of a shard,
// counted from its first, or of a slot, for the restore `restore_id` (not 0).
// Another id drops what was staged for the previous one.
struct StageRowsRequest {
  Fence fence;
  uint64_t restore_id = 0;
  ShardKey key;
  uint64_t map_version = 0;
  uint32_t slot = 0;
  uint64_t begin = 0;
  uint64_t end = 0;
  friend bool operator==(const StageRowsRequest&,
                         const StageRowsRequest&) = default;
};

// Copies rows [source_row, source_row + rows) of `tensor` to the rows from
// `target_row` on of a shard, counted from its first, or of a slot.
struct StageCopy {
  std::string tensor = {};
  ShardKey key;
  uint32_t slot = 0;
  uint64_t source_row = 0;
  uint64_t rows = 0;
  uint64_t target_row = 0;
  friend bool operator==(const StageCopy&, const StageCopy&) = default;
};

// Body of kStageFile: the server stages rows that it reads from a file of a
// checkpoint. The file's size, save id and checksums must match those given.
// NotFound if the server has no root or does not see the directory.
struct StageFileRequest {
  Fence fence;
  uint64_t restore_id = 0;
  uint64_t map_version = 0;
  SharedDirectory directory;
  uint64_t save_id = 0;
  std::string file = {};
  uint64_t bytes = 0;
  uint32_t crc32c = 0;
  std::vector<TensorSum> tensors = {};  // all of the file, in file order
  std::vector<StageCopy> copies = {};
  friend bool operator==(const StageFileRequest&,
                         const StageFileRequest&) = default;
};

struct StageShard {
  ShardKey key;
  uint64_t updates = 0;
  double momentum_product = 1;
  bool slots = false;  // staged too; otherwise reset to initial values
  friend bool operator==(const StageShard&, const StageShard&) = default;
};

// Body of kStageCommit: what was staged for these shards, ascending by key,
// becomes their content. FailedPrecondition, naming the shards, if rows are
// missing; nothing has changed then.
struct StageCommitRequest {
  Fence fence;
  uint64_t restore_id = 0;
  uint64_t map_version = 0;
  std::vector<StageShard> shards = {};
  friend bool operator==(const StageCommitRequest&,
                         const StageCommitRequest&) = default;
};

// Body of kStageDrop: drops what was staged. restore_id 0: for any restore.
struct StageDropRequest {
  Fence fence;
  uint64_t restore_id = 0;
  friend bool operator==(const StageDropRequest&,
                         const StageDropRequest&) = default;
};

// Decoding fails with InvalidArgument, and checks the form, not whether such a
// shard or file exists.
std::string EncodeSnapshotRequest(const SnapshotRequest& request);
absl::StatusOr<SnapshotRequest> DecodeSnapshotRequest(std::string_view body);
std::string EncodeSnapshotReply(const SnapshotReply& reply);
absl::StatusOr<SnapshotReply> DecodeSnapshotReply(std::string_view body);
std::string EncodeSnapshotReadRequest(const SnapshotReadRequest& request);
absl::StatusOr<SnapshotReadRequest> DecodeSnapshotReadRequest(
    std::string_view body);
std::string EncodeSnapshotWriteRequest(const SnapshotWriteRequest& request);
absl::StatusOr<SnapshotWriteRequest> DecodeSnapshotWriteRequest(
    std::string_view body);
std::string EncodeSnapshotWriteReply(const SnapshotWriteReply& reply);
absl::StatusOr<SnapshotWriteReply> DecodeSnapshotWriteReply(
    std::string_view body);
std::string EncodeStageRowsRequest(const StageRowsRequest& request);
absl::StatusOr<StageRowsRequest> DecodeStageRowsRequest(std::string_view body);
std::string EncodeStageFileRequest(const StageFileRequest& request);
absl::StatusOr<StageFileRequest> DecodeStageFileRequest(std::string_view body);
std::string EncodeStageCommitRequest(const StageCommitRequest& request);
absl::StatusOr<StageCommitRequest> DecodeStageCommitRequest(
    std::string_view body);
std::string EncodeStageDropRequest(const StageDropRequest& request);
absl::StatusOr<StageDropRequest> DecodeStageDropRequest(std::string_view body);

}  // namespace capstan
