// What a coordinator asks of a parameter server to save and to restore: the
// bodies. docs/consistency.md says what the answers promise.
//
// Saving: a snapshot holds all shards of a server as they are at one moment,
// while training goes on; it is then read, or the server writes it to a file.
// Restoring: rows are staged beside the shards, from requests or from files,
// and take their place all at once.
//
// All may be asked twice. Thread-safe: values and pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "wire/parameter.h"

namespace capstan {

// Body of kSnapshot, which makes a snapshot named `save_id` (not 0) in place of
// any other, and of kSnapshotDrop, which forgets it.
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

// Answer to kSnapshot. The shards ascend by key; those that have no values yet
// are left out.
struct SnapshotReply {
  // Whether there is memory for the updates to come. If not, those may be
  // refused for want of memory until the snapshot is dropped; it does not
  // change in either case.
  bool copied = false;
  uint64_t watermark = 0;
  uint64_t committed_round = 0;
  std::vector<SnapshotShard> shards = {};
  friend bool operator==(const SnapshotReply&, const SnapshotReply&) = default;
};

// Body of kSnapshotRead: rows [begin, end) of a shard in the snapshot, counted
// from its first, as one attachment. `slot` as in ReadRequest. NotFound if
// there is no such snapshot, or the shard is not in it.
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

// A directory that the caller and the server should both see, named by its
// path below the server's root for checkpoints. Proof of that is the file
// `probe` in it, which the caller has made with `probe_content`.
//
// At most so many names, each as CheckFileName has it (checkpoint/manifest.h);
// the last, a checkpoint's, may begin with ".tmp-". It is a place for
// checkpoints, not a tree.
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

// Body of kSnapshotWrite: the server writes its snapshot as the new file
// `file` in `directory`, and syncs it. NotFound if it has no root, does not see
// the directory, or has no such snapshot. A file of that name that an earlier
// try has left is replaced.
struct SnapshotWriteRequest {
  Fence fence;
  uint64_t save_id = 0;
  SharedDirectory directory;
  std::string file = {};
  friend bool operator==(const SnapshotWriteRequest&,
                         const SnapshotWriteRequest&) = default;
};

// What was written: the tensors are in the order of the file.
struct SnapshotWriteReply {
  uint64_t bytes = 0;
  uint32_t crc32c = 0;
  std::vector<TensorSum> tensors = {};
  friend bool operator==(const SnapshotWriteReply&,
                         const SnapshotWriteReply&) = default;
};

// Body of kStageRows: the one attachment is rows [begin, end) of a shard,
// counted from its first, or of a slot, for the restore `restore_id` (not 0).
// Another id drops what was staged for the one before.
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

// Rows [source_row, source_row + rows) of `tensor` are rows from `target_row`
// on of a shard, counted from its first, or of a slot.
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
// checkpoint, whose size, save id and checksums must be as said. NotFound if it
// has no root or does not see the directory.
struct StageFileRequest {
  Fence fence;
  uint64_t restore_id = 0;
  uint64_t map_version = 0;
  SharedDirectory directory;
  uint64_t save_id = 0;
  std::string file = {};
  uint64_t bytes = 0;
  uint32_t crc32c = 0;
  std::vector<TensorSum> tensors = {};  // all of the file, in its order
  std::vector<StageCopy> copies = {};
  friend bool operator==(const StageFileRequest&,
                         const StageFileRequest&) = default;
};

struct StageShard {
  ShardKey key;
  uint64_t updates = 0;
  double momentum_product = 1;
  bool slots = false;  // were staged too; else they are as at the beginning
  friend bool operator==(const StageShard&, const StageShard&) = default;
};

// Body of kStageCommit: what was staged for these shards, ascending by key,
// becomes what they hold. FailedPrecondition, naming them, if rows are missing;
// nothing has changed then.
struct StageCommitRequest {
  Fence fence;
  uint64_t restore_id = 0;
  uint64_t map_version = 0;
  std::vector<StageShard> shards = {};
  friend bool operator==(const StageCommitRequest&,
                         const StageCommitRequest&) = default;
};

// Body of kStageDrop: forgets what was staged. 0: for whichever restore.
struct StageDropRequest {
  Fence fence;
  uint64_t restore_id = 0;
  friend bool operator==(const StageDropRequest&,
                         const StageDropRequest&) = default;
};

// Decoding fails with InvalidArgument. It checks the form, not whether there is
// such a shard or file.
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
