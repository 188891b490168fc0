#include "coordinator/checkpoint/write_snapshot.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <functional>
#include <future>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/async/run_on.h"
#include "base/status.h"
#include "checkpoint/shard_file.h"
#include "coordinator/checkpoint/plan_restore.h"
#include "coordinator/run_at_once.h"
#include "tensor/buffer.h"
#include "tensor/dtype.h"

namespace capstan {
namespace {

// A disk that takes longer is useless, whatever the size.
constexpr Duration kWriteTimeout = std::chrono::hours(2);
constexpr uint64_t kPieceBytes = 8 << 20;

constexpr char kProbe[] = "probe";

// A tensor of the file, and its source.
struct TensorInFile {
  FileTensor tensor;
  ShardKey key;
  uint32_t slot = 0;
  uint64_t rows = 0;
  uint64_t row_bytes = 0;
};

// The shape of `rows` rows of `shape`.
Shape RowsOf(const Shape& shape, int64_t rows) {
  if (shape.rank() == 0) return shape;
  std::vector<int64_t> dims(shape.dims().begin(), shape.dims().end());
  dims[0] = rows;
  return Shape(dims);
}

std::vector<TensorInFile> TensorsOf(const SnapshotToWrite& snapshot,
                                    size_t server) {
  std::vector<TensorInFile> found;
  const std::string file = ServerFileName(server);
  for (const SavedVariable& variable : snapshot.variables) {
    const VariableEntry& entry = *snapshot.map.Find(variable.name);
    for (uint32_t i = 0; i < variable.shards.size(); ++i) {
      const SavedShard& shard = variable.shards[i];
      if (shard.file != file) continue;
      for (uint32_t slot = 0; slot <= variable.slots.size(); ++slot) {
        TensorInFile item;
        item.key = {.variable = entry.id, .shard = i};
        item.slot = slot;
        item.rows = static_cast<uint64_t>(shard.end - shard.begin);
        item.tensor.name = ShardTensorName(
            variable.name, shard.begin, shard.end,
            slot == 0 ? std::string_view() : variable.slots[slot - 1]);
        item.tensor.dtype = slot == 0 ? variable.dtype : DType::kF32;
        item.tensor.shape = RowsOf(variable.shape, shard.end - shard.begin);
        item.row_bytes = entry.row_bytes() / SizeOf(variable.dtype) *
                         SizeOf(item.tensor.dtype);
        found.push_back(std::move(item));
      }
    }
  }
  // In the order of SortForFile.
  std::stable_sort(found.begin(), found.end(),
                   [](const TensorInFile& a, const TensorInFile& b) {
                     return SizeOf(a.tensor.dtype) > SizeOf(b.tensor.dtype);
                   });
  return found;
}

absl::Status StreamTensor(const SnapshotToWrite& snapshot, uint32_t server,
                          const TensorInFile& item, Buffer& buffer,
                          ShardFileWriter& writer) {
  const uint64_t row_bytes = std::max<uint64_t>(1, item.row_bytes);
  const uint64_t step =
      std::max<uint64_t>(1, buffer.bytes().size() / row_bytes);
  for (uint64_t begin = 0; begin < item.rows; begin += step) {
    const uint64_t end = std::min(item.rows, begin + step);
    const uint64_t bytes = (end - begin) * item.row_bytes;
    if (bytes > buffer.bytes().size()) {
      // A single row may be larger.
      absl::StatusOr<Buffer> larger = Buffer::Allocate(bytes, Fill::kNone);
      if (!larger.ok()) return larger.status();
      buffer = *std::move(larger);
    }
    SnapshotReadRequest request;
    request.fence = snapshot.fence;
    request.save_id = snapshot.save_id;
    request.key = item.key;
    request.slot = item.slot;
    request.begin = begin;
    request.end = end;
    const MutableBytes into = buffer.mutable_bytes().first(bytes);
    UpdateOptions options;
    options.timeout = std::chrono::minutes(5);
    options.cancellation = snapshot.until_lost.get();
    CAPSTAN_RETURN_IF_ERROR(
        RunOn(snapshot.executor,
              snapshot.client->SnapshotRead(server, request, into, options)));
    CAPSTAN_RETURN_IF_ERROR(writer.Append(into));
  }
  return absl::OkStatus();
}

absl::StatusOr<SavedFile> StreamFile(const SnapshotToWrite& snapshot,
                                     uint32_t server, FileSystem& files,
                                     const std::string& path) {
  const std::vector<TensorInFile> items = TensorsOf(snapshot, server);
  std::vector<FileTensor> tensors;
  for (const TensorInFile& item : items) tensors.push_back(item.tensor);
  // The server may have begun to write it.
  files.Remove(path).IgnoreError();
  absl::StatusOr<std::unique_ptr<ShardFileWriter>> writer =
      ShardFileWriter::Create(files, path, snapshot.save_id, tensors);
  if (!writer.ok()) return writer.status();
  absl::StatusOr<Buffer> buffer = Buffer::Allocate(kPieceBytes, Fill::kNone);
  if (!buffer.ok()) return buffer.status();
  for (const TensorInFile& item : items) {
    CAPSTAN_RETURN_IF_ERROR(
        StreamTensor(snapshot, server, item, *buffer, **writer));
  }
  return (*writer)->Finish();
}

SavedFile ToSavedFile(const std::string& name, SnapshotWriteReply reply) {
  SavedFile file;
  file.name = name;
  file.bytes = reply.bytes;
  file.crc32c = reply.crc32c;
  for (TensorSum& tensor : reply.tensors) {
    file.tensors.push_back({std::move(tensor.name), tensor.crc32c});
  }
  return file;
}

}  // namespace

SharedPath PathBelow(const std::string& root, const std::string& directory) {
  SharedPath path;
  if (root.empty()) return path;
  std::error_code error;
  const std::filesystem::path top = std::filesystem::canonical(root, error);
  if (error) return path;
  const std::filesystem::path whole =
      std::filesystem::canonical(directory, error);
  if (error) return path;
  auto name = whole.begin();
  for (const std::filesystem::path& part : top) {
    if (name == whole.end() || *name != part) return path;
    ++name;
  }
  std::vector<std::string> names;
  for (; name != whole.end(); ++name) {
    names.push_back(name->string());
    const absl::Status named = CheckFileName(names.back());
    if (!named.ok()) {
      path.why = absl::StrCat("to servers ", named.message());
      return path;
    }
  }
  // The name of the checkpoint's own directory is added to them.
  if (names.size() >= kMostDirectoryNames) {
    path.why = absl::StrCat("it is ", names.size(), " levels below '", root,
                            "', and servers take ", kMostDirectoryNames - 1);
    return path;
  }
  path.names = std::move(names);
  path.valid = true;
  return path;
}

DirectoryProbe::DirectoryProbe(FileSystem& files, std::string path,
                               uint64_t content)
    : files_(files),
      path_(std::move(path)),
      content_(absl::StrFormat("%016x", content)) {
  const std::string name = JoinPath(path_, kProbe);
  absl::StatusOr<std::unique_ptr<WritableFile>> file =
      files_.CreateForWrite(name, IfExists::kTruncate);
  made_ = file.ok() && (*file)->Append(AsBytes(content_)).ok() &&
          (*file)->Close().ok();
}

DirectoryProbe::~DirectoryProbe() {
  files_.Remove(JoinPath(path_, kProbe)).IgnoreError();
}

SharedDirectory DirectoryProbe::Directory(const SharedPath& path) const {
  SharedDirectory directory;
  directory.path = path.names;
  directory.path.emplace_back(NameOf(path_));
  directory.probe = kProbe;
  directory.probe_content = content_;
  return directory;
}

absl::StatusOr<SnapshotFiles> WriteSnapshot(const SnapshotToWrite& snapshot,
                                            FileSystem& files,
                                            const NewCheckpoint& into,
                                            const SharedPath& shared) {
  const DirectoryProbe probe(files, into.path, snapshot.save_id);
  const bool by_servers = shared.valid && probe.made();
  using Written = absl::StatusOr<SnapshotWriteReply>;
  std::vector<std::optional<std::future<Written>>> begun(
      snapshot.servers.size());
  for (uint32_t i = 0; by_servers && i < begun.size(); ++i) {
    if (snapshot.servers[i].shards.empty()) continue;
    SnapshotWriteRequest request;
    request.fence = snapshot.fence;
    request.save_id = snapshot.save_id;
    request.directory = probe.Directory(shared);
    request.file = ServerFileName(i);
    UpdateOptions options;
    options.timeout = kWriteTimeout;
    options.cancellation = snapshot.until_lost.get();
    begun[i] = StartOn(snapshot.executor, snapshot.client->SnapshotWrite(
                                              i, std::move(request), options));
  }
  std::vector<std::optional<SavedFile>> written(begun.size());
  std::vector<std::function<absl::Status()>> streams;
  absl::Status failure;
  for (uint32_t i = 0; i < begun.size(); ++i) {
    if (snapshot.servers[i].shards.empty()) continue;
    const std::string name = ServerFileName(i);
    if (begun[i]) {
      Written by_server = begun[i]->get();
      if (by_server.ok()) {
        written[i] = ToSavedFile(name, *std::move(by_server));
        continue;
      }
      if (!absl::IsNotFound(by_server.status())) {
        failure.Update(by_server.status());
        continue;
      }
    }
    streams.push_back([&, i, name]() -> absl::Status {
      absl::StatusOr<SavedFile> file =
          StreamFile(snapshot, i, files, JoinPath(into.path, name));
      if (!file.ok()) return file.status();
      written[i] = *std::move(file);
      return absl::OkStatus();
    });
  }
  CAPSTAN_RETURN_IF_ERROR(failure);
  CAPSTAN_RETURN_IF_ERROR(RunAtOnce(streams));
  SnapshotFiles result;
  result.streamed = !streams.empty();
  for (std::optional<SavedFile>& file : written) {
    if (file) result.files.push_back(*std::move(file));
  }
  return result;
}

}  // namespace capstan
