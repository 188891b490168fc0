// A small checkpoint with a bit of everything, for tests: shards on two
// servers, slots, a scalar, several dtypes, a variable without rows. Test-only.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/random.h"
#include "base/status.h"
#include "checkpoint/directory.h"
#include "checkpoint/shard_file.h"

namespace capstan::testing {

struct SmallSave {
  uint64_t seed = 1;  // of the values, and of the save id
  uint64_t step = 0;
  int64_t rows = 7;  // of the variable "embedding"
  int64_t created_unix_ms = 1'700'000'000'000;
};

// The content of each variable and slot ("embedding.m").
using SmallValues = std::map<std::string, Tensor>;

namespace small {

inline Tensor Values(DType dtype, const Shape& shape, const Random& random,
                     std::string_view name) {
  Random numbers = random.Fork(name);
  Tensor tensor = Tensor::Zeros(dtype, shape);
  if (dtype == DType::kF32) {
    for (float& x : tensor.MutableValues<float>()) {
      x = static_cast<float>(numbers.Uniform());
    }
    return tensor;
  }
  for (std::byte& byte : tensor.mutable_view().mutable_bytes()) {
    byte =
        static_cast<std::byte>(numbers.Below(dtype == DType::kBool ? 2 : 128));
  }
  return tensor;
}

// Appends pieces of odd sizes, as they come from a network.
inline absl::Status AppendInPieces(ShardFileWriter& writer, Bytes data) {
  constexpr size_t kPiece = 4099;
  while (!data.empty()) {
    const Bytes piece = data.first(std::min(data.size(), kPiece));
    CAPSTAN_RETURN_IF_ERROR(writer.Append(piece));
    data = data.subspan(piece.size());
  }
  return absl::OkStatus();
}

}  // namespace small

// The manifest without the files.
inline Manifest SmallManifest(const SmallSave& save) {
  Manifest manifest;
  manifest.save_id = Random(save.seed).Fork("save_id").NextU64();
  manifest.generation = 3;
  manifest.step = save.step;
  manifest.round = save.step / 2;
  manifest.applied_above = {save.step + 2, save.step + 5};
  manifest.created_unix_ms = save.created_unix_ms;
  manifest.capstan_version = "0.1.0";
  const int64_t cut = save.rows / 2;
  const auto shard = [&](int64_t begin, int64_t end, int server) {
    return SavedShard{
        .begin = begin,
        .end = end,
        .file = server == 0 ? "server-0.safetensors" : "server-1.safetensors",
        .version = save.step + 1,
        .updates = save.step,
        .momentum_product = 0.1};
  };
  const auto variable = [&](std::string name, DType dtype, const Shape& shape,
                            std::string optimizer,
                            std::vector<std::string> slots,
                            std::vector<SavedShard> shards) {
    const bool trainable = !optimizer.empty();
    manifest.variables.push_back({.name = std::move(name),
                                  .dtype = dtype,
                                  .shape = shape,
                                  .trainable = trainable,
                                  .optimizer = std::move(optimizer),
                                  .slots = std::move(slots),
                                  .shards = std::move(shards)});
  };
  variable("embedding", DType::kF32, Shape({save.rows, 4}), "adam", {"m", "v"},
           {shard(0, cut, 0), shard(cut, save.rows, 1)});
  variable("ids", DType::kI64, Shape({2, 3}), "", {}, {shard(0, 2, 1)});
  variable("none", DType::kF32, Shape({0, 3}), "sgd", {}, {shard(0, 0, 0)});
  variable("on", DType::kBool, Shape({5}), "", {}, {shard(0, 5, 0)});
  variable("scale", DType::kF64, Shape(), "", {}, {shard(0, 1, 0)});
  variable("short", DType::kBF16, Shape({3}), "", {}, {shard(0, 3, 0)});
  manifest.records = {{"trainer", "{\"epoch\": 2}"}};
  return manifest;
}

inline SmallValues SmallTensors(const SmallSave& save) {
  const Random random(save.seed);
  SmallValues values;
  for (const SavedVariable& variable : SmallManifest(save).variables) {
    values[variable.name] =
        small::Values(variable.dtype, variable.shape, random, variable.name);
    for (const std::string& slot : variable.slots) {
      const std::string name = variable.name + "." + slot;
      values[name] = small::Values(DType::kF32, variable.shape, random, name);
    }
  }
  return values;
}

// Writes the files into `path`. Returns the complete manifest.
inline absl::StatusOr<Manifest> WriteSmallFiles(FileSystem& files,
                                                std::string_view path,
                                                const SmallSave& save) {
  Manifest manifest = SmallManifest(save);
  const SmallValues values = SmallTensors(save);
  for (const std::string file :
       {"server-0.safetensors", "server-1.safetensors"}) {
    std::vector<FileTensor> tensors;
    std::map<std::string, TensorView> views;
    for (const SavedVariable& variable : manifest.variables) {
      for (const SavedShard& shard : variable.shards) {
        if (shard.file != file) continue;
        const auto add = [&](const std::string& slot) {
          const Tensor& all = values.at(
              slot.empty() ? variable.name : variable.name + "." + slot);
          const TensorView view =
              variable.shape.rank() == 0
                  ? all.view()
                  : all.view().SliceRows(shard.begin, shard.end);
          const std::string name =
              ShardTensorName(variable.name, shard.begin, shard.end, slot);
          tensors.push_back({name, view.dtype(), view.shape()});
          views.emplace(name, view);
        };
        add("");
        for (const std::string& slot : variable.slots) add(slot);
      }
    }
    SortForFile(tensors);
    const auto writer = ShardFileWriter::Create(files, JoinPath(path, file),
                                                manifest.save_id, tensors);
    CAPSTAN_RETURN_IF_ERROR(writer.status());
    for (const FileTensor& tensor : tensors) {
      CAPSTAN_RETURN_IF_ERROR(
          small::AppendInPieces(**writer, views.at(tensor.name).bytes()));
    }
    absl::StatusOr<SavedFile> written = (*writer)->Finish();
    CAPSTAN_RETURN_IF_ERROR(written.status());
    manifest.files.push_back(*std::move(written));
  }
  return manifest;
}

// Makes the next checkpoint in `directory`. Abandons it on failure.
inline absl::StatusOr<Checkpoint> SaveSmall(FileSystem& files,
                                            std::string_view directory,
                                            const SmallSave& save) {
  const absl::StatusOr<NewCheckpoint> begun = BeginCheckpoint(files, directory);
  CAPSTAN_RETURN_IF_ERROR(begun.status());
  absl::StatusOr<Manifest> manifest = WriteSmallFiles(files, begun->path, save);
  absl::Status status = manifest.status();
  if (status.ok()) status = CommitCheckpoint(files, *begun, *manifest);
  if (!status.ok()) {
    // The first error is the one to report.
    (void)AbandonCheckpoint(files, *begun);
    return status;
  }
  return OpenCheckpoint(files, JoinPath(directory, begun->name));
}

}  // namespace capstan::testing
