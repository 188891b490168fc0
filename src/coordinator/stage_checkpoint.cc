#include "coordinator/stage_checkpoint.h"

#include <algorithm>
#include <functional>
#include <future>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "base/run_on.h"
#include "base/status.h"
#include "checkpoint/shard_file.h"
#include "coordinator/run_at_once.h"

namespace capstan {
namespace {

constexpr Duration kReadTimeout = std::chrono::hours(2);

// Sends the rows of one copy as the bytes of its tensor come.
class RowSender {
 public:
  RowSender(const CheckpointToStage& target, const RestoreCopy& copy)
      : target_(target),
        copy_(copy),
        begin_(copy.copy.source_row * copy.row_bytes),
        end_(begin_ + copy.copy.rows * copy.row_bytes),
        row_(copy.copy.target_row) {}

  absl::Status Take(uint64_t offset, Bytes piece) {
    const uint64_t from = std::max(offset, begin_);
    const uint64_t to = std::min(offset + piece.size(), end_);
    if (from >= to) return absl::OkStatus();
    Bytes mine = piece.subspan(from - offset, to - from);
    if (!begun_.empty()) {
      const Bytes more = mine.first(
          std::min<size_t>(mine.size(), copy_.row_bytes - begun_.size()));
      begun_.insert(begun_.end(), more.begin(), more.end());
      mine = mine.subspan(more.size());
      if (begun_.size() < copy_.row_bytes) return absl::OkStatus();
      CAPSTAN_RETURN_IF_ERROR(Send(1, begun_));
      begun_.clear();
    }
    const size_t whole = mine.size() / copy_.row_bytes;
    const Bytes rows = mine.first(whole * copy_.row_bytes);
    if (whole > 0) CAPSTAN_RETURN_IF_ERROR(Send(whole, rows));
    mine = mine.subspan(rows.size());
    begun_.assign(mine.begin(), mine.end());
    return absl::OkStatus();
  }

  // After the last piece: rows without elements come in none.
  absl::Status Finish() {
    if (copy_.row_bytes != 0) return absl::OkStatus();
    return Send(copy_.copy.rows, {});
  }

 private:
  // The next `count` rows, whose bytes are `rows`.
  absl::Status Send(uint64_t count, Bytes rows) {
    StageRowsRequest request;
    request.fence = target_.fence;
    request.restore_id = target_.restore_id;
    request.key = copy_.copy.key;
    request.map_version = target_.map_version;
    request.slot = copy_.copy.slot;
    request.begin = row_;
    request.end = row_ + count;
    UpdateOptions options;
    options.timeout = std::chrono::minutes(5);
    options.cancellation = target_.until_lost.get();
    CAPSTAN_RETURN_IF_ERROR(
        RunOn(target_.executor,
              target_.client->StageRows(copy_.server, std::move(request), rows,
                                        options)));
    row_ += count;
    return absl::OkStatus();
  }

  const CheckpointToStage& target_;
  const RestoreCopy& copy_;
  const uint64_t begin_;
  const uint64_t end_;
  uint64_t row_;
  std::vector<std::byte> begun_;  // a row of which more is to come
};

absl::Status StreamCopies(const CheckpointToStage& target,
                          const std::vector<const RestoreCopy*>& copies,
                          const ShardFileReader& reader) {
  std::map<std::string, std::vector<RowSender>> senders;
  for (const RestoreCopy* copy : copies) {
    senders[copy->copy.tensor].emplace_back(target, *copy);
  }
  for (auto& [tensor, all] : senders) {
    const auto take = [&](uint64_t offset, Bytes piece) {
      absl::Status status;
      for (RowSender& sender : all) {
        status = sender.Take(offset, piece);
        if (!status.ok()) break;
      }
      return status;
    };
    CAPSTAN_RETURN_IF_ERROR(reader.Read(tensor, take));
    for (RowSender& sender : all) CAPSTAN_RETURN_IF_ERROR(sender.Finish());
  }
  return absl::OkStatus();
}

StageFileRequest FileRequest(const CheckpointToStage& target,
                             const Manifest& manifest, size_t file,
                             const SharedDirectory& directory,
                             const std::vector<const RestoreCopy*>& copies) {
  const SavedFile& saved = manifest.files[file];
  StageFileRequest request;
  request.fence = target.fence;
  request.restore_id = target.restore_id;
  request.map_version = target.map_version;
  request.directory = directory;
  request.save_id = manifest.save_id;
  request.file = saved.name;
  request.bytes = saved.bytes;
  request.crc32c = saved.crc32c;
  for (const SavedTensor& tensor : saved.tensors) {
    request.tensors.push_back({tensor.name, tensor.crc32c});
  }
  for (const RestoreCopy* copy : copies) request.copies.push_back(copy->copy);
  return request;
}

}  // namespace

absl::Status StageCheckpoint(const CheckpointToStage& target,
                             const RestorePlan& plan, FileSystem& files,
                             const std::string& path, const Manifest& manifest,
                             const SharedPath& shared) {
  // By file and server.
  using Part = std::pair<size_t, uint32_t>;
  std::map<Part, std::vector<const RestoreCopy*>> parts;
  for (const RestoreCopy& copy : plan.copies) {
    parts[{copy.file, copy.server}].push_back(&copy);
  }
  std::optional<DirectoryProbe> probe;
  if (shared.valid) probe.emplace(files, path, target.restore_id);
  std::map<Part, std::future<absl::Status>> begun;
  if (probe && probe->made()) {
    for (const auto& [part, copies] : parts) {
      UpdateOptions options;
      options.timeout = kReadTimeout;
      options.cancellation = target.until_lost.get();
      begun[part] = StartOn(target.executor,
                            target.client->StageFile(
                                part.second,
                                FileRequest(target, manifest, part.first,
                                            probe->Directory(shared), copies),
                                options));
    }
  }
  absl::Status failure;
  std::map<size_t, std::vector<const RestoreCopy*>> to_stream;
  for (const auto& [part, copies] : parts) {
    const auto started = begun.find(part);
    if (started != begun.end()) {
      const absl::Status status = started->second.get();
      if (status.ok()) continue;
      if (!absl::IsNotFound(status)) {
        failure.Update(status);
        continue;
      }
    }
    std::vector<const RestoreCopy*>& all = to_stream[part.first];
    all.insert(all.end(), copies.begin(), copies.end());
  }
  CAPSTAN_RETURN_IF_ERROR(failure);
  std::vector<std::function<absl::Status()>> streams;
  for (const auto& one : to_stream) {
    streams.push_back([&]() -> absl::Status {
      const SavedFile& saved = manifest.files[one.first];
      const absl::StatusOr<std::unique_ptr<ShardFileReader>> reader =
          ShardFileReader::Open(files, JoinPath(path, saved.name), saved,
                                manifest.save_id);
      if (!reader.ok()) return reader.status();
      return StreamCopies(target, one.second, **reader);
    });
  }
  return RunAtOnce(streams);
}

absl::Status CommitStaged(const CheckpointToStage& target,
                          const RestorePlan& plan) {
  std::vector<std::future<absl::Status>> begun;
  for (uint32_t i = 0; i < plan.commits.size(); ++i) {
    if (plan.commits[i].empty()) continue;
    StageCommitRequest request;
    request.fence = target.fence;
    request.restore_id = target.restore_id;
    request.map_version = target.map_version;
    request.shards = plan.commits[i];
    UpdateOptions options;
    options.timeout = std::chrono::minutes(5);
    options.cancellation = target.until_lost.get();
    begun.push_back(
        StartOn(target.executor,
                target.client->StageCommit(i, std::move(request), options)));
  }
  absl::Status failure;
  for (std::future<absl::Status>& one : begun) failure.Update(one.get());
  return failure;
}

}  // namespace capstan
