// Reading a whole checkpoint to see whether it is sound. Blocks; thread-safe.
#pragma once

#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "base/file/file_system.h"
#include "checkpoint/manifest.h"
#include "checkpoint/shard_file.h"

namespace capstan {

// What is wrong with the checkpoint at `path`: an error for each bad file,
// which names the file and its bad tensors; none if the checkpoint is sound.
std::vector<absl::Status> FindDamage(const FileSystem& files,
                                     std::string_view path,
                                     const Manifest& manifest);

// OK if the file has the tensors of this shard, with the variable's dtype and
// the shard's shape (slots: f32 of that shape). DataLoss, naming the first
// tensor that differs.
absl::Status CheckShardTensors(const ShardFileReader& file,
                               const SavedVariable& variable,
                               const SavedShard& shard);

// The variable's shape, with the shard's rows.
Shape ShardShape(const SavedVariable& variable, const SavedShard& shard);

}  // namespace capstan
