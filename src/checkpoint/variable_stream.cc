#include "checkpoint/variable_stream.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "checkpoint/verify_checkpoint.h"

namespace capstan {

absl::StatusOr<OpenFiles> OpenFiles::Open(const FileSystem& files,
                                          std::string_view checkpoint_path,
                                          const Manifest& manifest) {
  OpenFiles opened;
  for (const SavedFile& file : manifest.files) {
    auto reader = ShardFileReader::Open(
        files, JoinPath(checkpoint_path, file.name), file, manifest.save_id);
    CAPSTAN_RETURN_IF_ERROR(reader.status());
    opened.files_[file.name] = *std::move(reader);
  }
  for (const SavedVariable& variable : manifest.variables) {
    for (const SavedShard& shard : variable.shards) {
      CAPSTAN_RETURN_IF_ERROR(WithContext(
          CheckShardTensors(opened.Of(shard), variable, shard),
          absl::StrCat("read \"", JoinPath(checkpoint_path, shard.file),
                       "\"")));
    }
  }
  return opened;
}

const ShardFileReader& OpenFiles::Of(const SavedShard& shard) const {
  return *files_.find(shard.file)->second;
}

VariableStream::VariableStream(const OpenFiles& files,
                               const SavedVariable& variable, std::string slot)
    : files_(files), variable_(variable), slot_(std::move(slot)) {}

absl::StatusOr<size_t> VariableStream::Next(MutableBytes buffer) {
  size_t filled = 0;
  while (filled < buffer.size() && shard_ < variable_.shards.size()) {
    const SavedShard& shard = variable_.shards[shard_];
    const ShardFileReader& file = files_.Of(shard);
    if (!begun_) {
      const auto cursor = file.Begin(
          ShardTensorName(variable_.name, shard.begin, shard.end, slot_));
      CAPSTAN_RETURN_IF_ERROR(cursor.status());
      cursor_ = *cursor;
      begun_ = true;
    }
    const absl::StatusOr<size_t> got =
        file.ReadNext(cursor_, buffer.subspan(filled));
    CAPSTAN_RETURN_IF_ERROR(got.status());
    filled += *got;
    if (*got > 0) continue;
    ++shard_;
    begun_ = false;
  }
  return filled;
}

absl::Status ReadStream(VariableStream stream, MutableBytes buffer,
                        const std::function<absl::Status(Bytes)>& take) {
  while (true) {
    const absl::StatusOr<size_t> got = stream.Next(buffer);
    CAPSTAN_RETURN_IF_ERROR(got.status());
    if (*got == 0) return absl::OkStatus();
    CAPSTAN_RETURN_IF_ERROR(take(buffer.first(*got)));
  }
}

}  // namespace capstan
