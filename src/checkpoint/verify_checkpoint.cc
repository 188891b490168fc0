#include "checkpoint/verify_checkpoint.h"

#include <algorithm>
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status.h"
#include "checkpoint/directory.h"
#include "tensor/view.h"

namespace capstan {
namespace {

using ShardsByFile =
    std::map<std::string_view,
             std::vector<std::pair<const SavedVariable*, const SavedShard*>>>;

ShardsByFile GroupShards(const Manifest& manifest) {
  ShardsByFile shards;
  for (const SavedVariable& variable : manifest.variables) {
    for (const SavedShard& shard : variable.shards) {
      shards[shard.file].emplace_back(&variable, &shard);
    }
  }
  return shards;
}

absl::Status VerifyFile(const FileSystem& files, std::string_view path,
                        const Manifest& manifest, const SavedFile& file,
                        const ShardsByFile& shards) {
  const auto reader = ShardFileReader::Open(files, JoinPath(path, file.name),
                                            file, manifest.save_id);
  CAPSTAN_RETURN_IF_ERROR(reader.status());
  const auto found = shards.find(file.name);
  if (found != shards.end()) {
    for (const auto& [variable, shard] : found->second) {
      CAPSTAN_RETURN_IF_ERROR(WithContext(
          CheckShardTensors(**reader, *variable, *shard),
          absl::StrCat("read \"", JoinPath(path, file.name), "\"")));
    }
  }
  return (*reader)->Verify();
}

absl::Status CheckTensor(const ShardFileReader& file, const std::string& name,
                         DType dtype, const Shape& shape) {
  const SafetensorsEntry* entry = file.Find(name);
  if (entry == nullptr) {
    return absl::DataLossError(absl::StrCat("tensor \"", name, "\": missing"));
  }
  if (entry->dtype == dtype && entry->shape == shape) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat(
      "tensor \"", name, "\": it is ", Describe(entry->dtype, entry->shape),
      ", but by the manifest ", Describe(dtype, shape)));
}

}  // namespace

Shape ShardShape(const SavedVariable& variable, const SavedShard& shard) {
  if (variable.shape.rank() == 0) return variable.shape;
  std::vector<int64_t> dims(variable.shape.dims().begin(),
                            variable.shape.dims().end());
  dims[0] = shard.end - shard.begin;
  return Shape(dims);
}

absl::Status CheckShardTensors(const ShardFileReader& file,
                               const SavedVariable& variable,
                               const SavedShard& shard) {
  const Shape shape = ShardShape(variable, shard);
  CAPSTAN_RETURN_IF_ERROR(
      CheckTensor(file, ShardTensorName(variable.name, shard.begin, shard.end),
                  variable.dtype, shape));
  for (const std::string& slot : variable.slots) {
    CAPSTAN_RETURN_IF_ERROR(CheckTensor(
        file, ShardTensorName(variable.name, shard.begin, shard.end, slot),
        DType::kF32, shape));
  }
  return absl::OkStatus();
}

std::vector<absl::Status> FindDamage(const FileSystem& files,
                                     std::string_view path,
                                     const Manifest& manifest) {
  const ShardsByFile shards = GroupShards(manifest);
  std::vector<absl::Status> damage;
  for (const SavedFile& file : manifest.files) {
    absl::Status status = VerifyFile(files, path, manifest, file, shards);
    if (!status.ok()) damage.push_back(std::move(status));
  }
  return damage;
}

absl::Status VerifyCheckpoint(const FileSystem& files, std::string_view path,
                              const Manifest& manifest) {
  const std::vector<absl::Status> damage = FindDamage(files, path, manifest);
  if (damage.empty()) return absl::OkStatus();
  const bool alike = std::all_of(
      damage.begin(), damage.end(), [&](const absl::Status& status) {
        return status.code() == damage.front().code();
      });
  return absl::Status(
      alike ? damage.front().code() : absl::StatusCode::kDataLoss,
      absl::StrJoin(damage, "; ",
                    [](std::string* out, const absl::Status& status) {
                      absl::StrAppend(out, status.message());
                    }));
}

}  // namespace capstan
