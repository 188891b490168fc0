// SnapshotWrite: writes the snapshot to a file that the coordinator sees too.
#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "checkpoint/manifest.h"
#include "checkpoint/shard_file.h"
#include "server/request.h"
#include "server/stage/checkpoint_path.h"
#include "server/stage/on_disk.h"
#include "server/verbs.h"

namespace capstan {
namespace {

// Written at a time: between two pieces the disk's thread does other work, and
// the caller's cancellation is checked.
constexpr size_t kWritePieceBytes = 4 << 20;

Shape ShapeOf(const Shard& shard) {
  const std::span<const int64_t> dims = shard.spec().shape.dims();
  std::vector<int64_t> rows(dims.begin(), dims.end());
  // A scalar has one row, and stays a scalar.
  if (!rows.empty()) rows[0] = static_cast<int64_t>(shard.rows());
  return Shape(rows);
}

SnapshotWriteReply ReplyOf(const SavedFile& file) {
  SnapshotWriteReply reply;
  reply.bytes = file.bytes;
  reply.crc32c = file.crc32c;
  for (const SavedTensor& tensor : file.tensors) {
    reply.tensors.push_back({.name = tensor.name, .crc32c = tensor.crc32c});
  }
  return reply;
}

// One file while it is written. Pieces are written on the disk's executor;
// everything else runs on the caller's.
class FileWrite {
 public:
  FileWrite(std::shared_ptr<FileSystem> files, SnapshotPtr snapshot,
            std::string path)
      : files_(std::move(files)),
        snapshot_(std::move(snapshot)),
        path_(std::move(path)) {}

  // Lists the tensors to write.
  absl::Status Plan() {
    for (const HeldShard& held : snapshot_->shards) {
      const Shard& shard = *held.shard;
      const int64_t begin = shard.first_row();
      const int64_t end = begin + static_cast<int64_t>(shard.rows());
      for (size_t part = 0; part < held.hold.parts.size(); ++part) {
        FileTensor tensor;
        tensor.name = ShardTensorName(
            shard.spec().name, begin, end,
            part == 0 ? std::string_view() : shard.slot_info(part).name);
        tensor.dtype = shard.part_dtype(part);
        tensor.shape = ShapeOf(shard);
        const Bytes bytes = held.hold.parts[part].bytes();
        if (!bytes_.emplace(tensor.name, bytes).second) {
          return absl::InvalidArgumentError(
              absl::StrCat("two tensors would be called '", tensor.name,
                           "'; rename a variable"));
        }
        tensors_.push_back(std::move(tensor));
      }
    }
    SortForFile(tensors_);
    return absl::OkStatus();
  }

  absl::Status Create() {
    // An earlier attempt may have left it.
    absl::Status status = files_->Remove(path_);
    if (!status.ok() && !absl::IsNotFound(status)) return status;
    absl::StatusOr<std::unique_ptr<ShardFileWriter>> writer =
        ShardFileWriter::Create(*files_, path_, snapshot_->save_id, tensors_);
    if (!writer.ok()) return writer.status();
    writer_ = *std::move(writer);
    return absl::OkStatus();
  }

  bool AtEnd() const { return current_ == tensors_.size(); }

  // Many small tensors make one piece.
  absl::Status WritePiece() {
    size_t left = kWritePieceBytes;
    while (!AtEnd() && left > 0) {
      const Bytes all = bytes_.find(tensors_[current_].name)->second;
      const Bytes piece =
          all.subspan(offset_, std::min(left, all.size() - offset_));
      CAPSTAN_RETURN_IF_ERROR(writer_->Append(piece));
      left -= piece.size();
      offset_ += piece.size();
      if (offset_ < all.size()) continue;
      ++current_;
      offset_ = 0;
    }
    return absl::OkStatus();
  }

  absl::Status Finish() {
    absl::StatusOr<SavedFile> file = writer_->Finish();
    if (!file.ok()) return file.status();
    reply_ = ReplyOf(*file);
    return absl::OkStatus();
  }

  // Removes what was written so far.
  absl::Status Remove() {
    writer_ = nullptr;
    return files_->Remove(path_);
  }

  const SnapshotWriteReply& reply() const { return reply_; }

 private:
  const std::shared_ptr<FileSystem> files_;
  const SnapshotPtr snapshot_;
  const std::string path_;
  std::vector<FileTensor> tensors_;
  std::map<std::string, Bytes, std::less<>> bytes_;  // by name of the tensor
  std::unique_ptr<ShardFileWriter> writer_;
  size_t current_ = 0;  // index of the tensor
  size_t offset_ = 0;   // within the tensor
  SnapshotWriteReply reply_;
};

// Ends early if the caller goes away or the snapshot is dropped.
Task<absl::Status> WriteAll(VerbContext& context, SnapshotStore& snapshots,
                            uint64_t save_id, FileWrite& write,
                            ServerCall& call) {
  const Executor& disk = context.store.disk();
  absl::Status status = write.Plan();
  if (!status.ok()) co_return status;
  std::function<absl::Status()> create = [&] { return write.Create(); };
  status = co_await OnDisk(disk, std::move(create));
  while (status.ok() && !write.AtEnd()) {
    if (call.cancelled()) {
      status = absl::CancelledError("the caller has gone");
      break;
    }
    // Marks the snapshot as used, for as long as this takes.
    status = snapshots.Get(save_id, context.clock.Now()).status();
    if (!status.ok()) break;
    std::function<absl::Status()> piece = [&] { return write.WritePiece(); };
    status = co_await OnDisk(disk, std::move(piece));
  }
  if (status.ok()) {
    std::function<absl::Status()> finish = [&] { return write.Finish(); };
    status = co_await OnDisk(disk, std::move(finish));
  }
  if (!status.ok()) {
    std::function<absl::Status()> remove = [&] { return write.Remove(); };
    const absl::Status removed = co_await OnDisk(disk, std::move(remove));
    // The original error says more.
    removed.IgnoreError();
  }
  co_return status;
}

}  // namespace

Task<ServerReply> ServeSnapshotWrite(VerbContext& context, ServerCall& call) {
  const absl::StatusOr<SnapshotWriteRequest> request =
      DecodeSnapshotWriteRequest(call.body());
  if (!request.ok()) co_return ErrorReply(request.status());
  const TablePtr table = context.store.table();
  absl::Status status = context.store.Admit(request->fence, *table, call);
  if (!status.ok()) co_return ErrorReply(std::move(status));
  // Kept until the end: the server may be destroyed first.
  const absl::StatusOr<CheckpointPlace> place =
      PlaceOf(context.store.checkpoints(), request->directory, request->file);
  if (!place.ok()) co_return ErrorReply(place.status());
  const std::string& path = place->path;
  SnapshotStore& snapshots = table->generation->snapshots;
  absl::StatusOr<SnapshotPtr> snapshot =
      snapshots.Get(request->save_id, context.clock.Now());
  if (!snapshot.ok()) co_return ErrorReply(snapshot.status());
  std::optional<uint64_t> size;
  std::function<absl::Status()> look = [&]() -> absl::Status {
    CAPSTAN_RETURN_IF_ERROR(
        CheckProbe(*place->files, place->directory, request->directory));
    const absl::StatusOr<FileInfo> info = place->files->Stat(path);
    if (info.ok()) size = info->size;
    return absl::OkStatus();
  };
  status = co_await OnDisk(context.store.disk(), std::move(look));
  if (!status.ok()) co_return ErrorReply(std::move(status));
  absl::StatusOr<std::optional<SnapshotWriteReply>> written =
      snapshots.BeginWrite(request->save_id, path, size);
  if (!written.ok()) co_return ErrorReply(written.status());
  if (!*written) {
    FileWrite write(place->files, *snapshot, path);
    status =
        co_await WriteAll(context, snapshots, request->save_id, write, call);
    if (status.ok()) *written = write.reply();
    snapshots.EndWrite(request->save_id, path, *written, context.clock.Now());
    if (!status.ok()) co_return ErrorReply(std::move(status));
  }
  ServerReply reply;
  reply.body = EncodeSnapshotWriteReply(**written);
  co_return reply;
}

}  // namespace capstan
