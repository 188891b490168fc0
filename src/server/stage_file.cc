// StageFile: rows for a restore that the server itself reads from a file.
#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "checkpoint/manifest.h"
#include "checkpoint/shard_file.h"
#include "server/request.h"
#include "server/stage/checkpoint_path.h"
#include "server/stage/lend_spares.h"
#include "server/stage/on_disk.h"
#include "server/verbs.h"

namespace capstan {
namespace {

// Read at a time: small enough to be in the cache when its checksum is
// computed.
constexpr uint64_t kFilePieceBytes = 1 << 20;

// Rows of a tensor and where they go.
struct Target {
  Shard* shard = nullptr;
  std::shared_ptr<StagedShard> staged;
  StageCopy copy;
};
// By tensor; each is read once.
using Targets = std::map<std::string, std::vector<Target>>;

SavedFile ExpectedFile(const StageFileRequest& request) {
  SavedFile file;
  file.name = request.file;
  file.bytes = request.bytes;
  file.crc32c = request.crc32c;
  for (const TensorSum& tensor : request.tensors) {
    file.tensors.push_back({.name = tensor.name, .crc32c = tensor.crc32c});
  }
  return file;
}

// Checks everything before anything is staged. Empty if committed already.
absl::StatusOr<Targets> FindTargets(const ShardTable& table,
                                    const StageFileRequest& request) {
  std::vector<Shard*> shards;
  for (const StageCopy& copy : request.copies) {
    const absl::StatusOr<Shard*> shard =
        FindShard(table, copy.key, request.map_version);
    if (!shard.ok()) return shard.status();
    if (copy.rows > (*shard)->rows() ||
        copy.target_row > (*shard)->rows() - copy.rows) {
      return absl::OutOfRangeError(absl::StrCat(
          (*shard)->Name(), " has ", (*shard)->rows(), " rows; ", copy.rows,
          " from ", copy.target_row, " on were to be staged"));
    }
    CAPSTAN_RETURN_IF_ERROR(CheckRange(**shard, copy.slot, 0, 0));
    shards.push_back(*shard);
  }
  Targets targets;
  for (size_t i = 0; i < shards.size(); ++i) {
    const StageCopy& copy = request.copies[i];
    absl::StatusOr<std::shared_ptr<StagedShard>> staged =
        table.generation->staging.Open(request.restore_id, *shards[i]);
    if (!staged.ok()) return staged.status();
    if (*staged == nullptr) return Targets();
    Target target;
    target.shard = shards[i];
    target.staged = *std::move(staged);
    target.copy = copy;
    targets[copy.tensor].push_back(std::move(target));
  }
  return targets;
}

// OK if the rows that are wanted of a tensor match those of the shard.
absl::Status CheckTensor(const SafetensorsEntry& entry, const Target& target) {
  const Shard& shard = target.staged->shard();
  const std::span<const int64_t> have = entry.shape.dims();
  const std::span<const int64_t> want = shard.spec().shape.dims();
  const bool same_rows =
      have.size() == want.size() &&
      (have.empty() ||
       std::equal(have.begin() + 1, have.end(), want.begin() + 1));
  const DType dtype = shard.part_dtype(target.copy.slot);
  if (entry.dtype != dtype || !same_rows) {
    return absl::InvalidArgumentError(absl::StrCat(
        "tensor '", entry.name, "' is ", std::string(NameOf(entry.dtype)),
        entry.shape.ToString(), ", which has no rows of ", shard.Name(), ": ",
        std::string(NameOf(dtype)), shard.spec().shape.ToString()));
  }
  const auto rows = static_cast<uint64_t>(entry.shape.num_rows());
  if (target.copy.rows > rows ||
      target.copy.source_row > rows - target.copy.rows) {
    return absl::OutOfRangeError(absl::StrCat(
        "tensor '", entry.name, "' has ", rows, " rows; ", target.copy.rows,
        " from ", target.copy.source_row, " on were asked for"));
  }
  return absl::OkStatus();
}

// Copies what a piece of the tensor, from `offset` on, has for `target`.
absl::Status CopyPiece(const Target& target, uint64_t offset, Bytes piece) {
  const StageCopy& copy = target.copy;
  const uint64_t row = target.staged->shard().part_row_bytes(copy.slot);
  const uint64_t begin = copy.source_row * row;
  const uint64_t first = std::max(offset, begin);
  const uint64_t last =
      std::min(offset + piece.size(), begin + copy.rows * row);
  if (first >= last) return absl::OkStatus();
  return target.staged->Write(copy.slot,
                              copy.target_row * row + (first - begin),
                              piece.subspan(first - offset, last - first));
}

// Whether a whole tensor becomes rows of one shard: then it is read directly
// into them.
bool IsOneToOne(const SafetensorsEntry& entry,
                const std::vector<Target>& targets) {
  return targets.size() == 1 && entry.dtype != DType::kBool &&
         targets[0].copy.source_row == 0 &&
         targets[0].copy.rows == static_cast<uint64_t>(entry.shape.num_rows());
}

absl::Status ReadInto(const Target& target, const ShardFileReader& reader,
                      const SafetensorsEntry& entry) {
  const StageCopy& copy = target.copy;
  const uint64_t begin =
      copy.target_row * target.staged->shard().part_row_bytes(copy.slot);
  absl::StatusOr<ShardFileReader::Cursor> cursor = reader.Begin(entry.name);
  if (!cursor.ok()) return cursor.status();
  const uint64_t size = entry.end - entry.begin;
  const auto read = [&](MutableBytes into) {
    return reader.ReadNext(*cursor, into).status();
  };
  do {
    const auto piece = static_cast<size_t>(
        std::min<uint64_t>(kFilePieceBytes, size - cursor->offset));
    CAPSTAN_RETURN_IF_ERROR(
        target.staged->Fill(copy.slot, begin + cursor->offset, piece, read));
  } while (cursor->offset < size);
  return absl::OkStatus();
}

absl::Status StageTensor(const ShardFileReader& reader,
                         const std::string& tensor,
                         const std::vector<Target>& targets) {
  const SafetensorsEntry* entry = reader.Find(tensor);
  if (entry == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("the file has no tensor '", tensor, "'"));
  }
  for (const Target& target : targets) {
    CAPSTAN_RETURN_IF_ERROR(CheckTensor(*entry, target));
  }
  for (const Target& target : targets) {
    const StageCopy& rows = target.copy;
    CAPSTAN_RETURN_IF_ERROR(target.staged->BeginRows(
        rows.slot, rows.target_row, rows.target_row + rows.rows));
  }
  const auto copy = [&targets](uint64_t offset, Bytes piece) -> absl::Status {
    for (const Target& target : targets) {
      CAPSTAN_RETURN_IF_ERROR(CopyPiece(target, offset, piece));
    }
    return absl::OkStatus();
  };
  CAPSTAN_RETURN_IF_ERROR(IsOneToOne(*entry, targets)
                              ? ReadInto(targets.front(), reader, *entry)
                              : reader.Read(tensor, copy));
  // Only now is it known that they are what was saved.
  for (const Target& target : targets) {
    const StageCopy& rows = target.copy;
    CAPSTAN_RETURN_IF_ERROR(target.staged->EndRows(
        rows.slot, rows.target_row, rows.target_row + rows.rows));
  }
  return absl::OkStatus();
}

}  // namespace

Task<ServerReply> ServeStageFile(VerbContext& context, ServerCall& call) {
  const absl::StatusOr<StageFileRequest> request =
      DecodeStageFileRequest(call.body());
  if (!request.ok()) co_return ErrorReply(request.status());
  const TablePtr table = context.store.table();
  absl::Status status = context.store.Admit(request->fence, *table, call);
  if (!status.ok()) co_return ErrorReply(std::move(status));
  // Kept until the end: the server may be destroyed first.
  const absl::StatusOr<CheckpointPlace> place =
      PlaceOf(context.store.checkpoints(), request->directory, request->file);
  if (!place.ok()) co_return ErrorReply(place.status());
  const absl::StatusOr<Targets> targets = FindTargets(*table, *request);
  if (!targets.ok()) co_return ErrorReply(targets.status());
  for (const auto& [tensor, those] : *targets) {
    for (const Target& target : those) {
      co_await LendSpares(*target.shard, *target.staged);
    }
  }
  const Executor& disk = context.store.disk();
  std::unique_ptr<ShardFileReader> reader;
  std::function<absl::Status()> open = [&]() -> absl::Status {
    CAPSTAN_RETURN_IF_ERROR(
        CheckProbe(*place->files, place->directory, request->directory));
    absl::StatusOr<std::unique_ptr<ShardFileReader>> opened =
        ShardFileReader::Open(*place->files, place->path,
                              ExpectedFile(*request), request->save_id);
    if (!opened.ok()) return opened.status();
    reader = *std::move(opened);
    return absl::OkStatus();
  };
  status = co_await OnDisk(disk, std::move(open));
  for (auto next = targets->begin(); status.ok() && next != targets->end();
       ++next) {
    if (call.cancelled()) {
      co_return ErrorReply(absl::CancelledError("the caller has gone"));
    }
    std::function<absl::Status()> stage = [&reader, &one = *next] {
      return StageTensor(*reader, one.first, one.second);
    };
    status = co_await OnDisk(disk, std::move(stage));
  }
  co_return ErrorReply(std::move(status));
}

}  // namespace capstan
