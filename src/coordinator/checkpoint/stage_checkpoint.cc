#include "coordinator/checkpoint/stage_checkpoint.h"

#include <functional>
#include <future>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "base/async/run_on.h"
#include "base/status.h"
#include "checkpoint/shard_file.h"
#include "coordinator/run_at_once.h"

namespace capstan {
namespace {

constexpr Duration kReadTimeout = std::chrono::hours(2);

StageFileRequest FileRequest(const StageTarget& target,
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

absl::Status StageCheckpoint(const StageTarget& target, const RestorePlan& plan,
                             FileSystem& files, const std::string& path,
                             const Manifest& manifest,
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
      return StageTensors(target, one.second, **reader);
    });
  }
  return RunAtOnce(streams);
}

}  // namespace capstan
