// What the tests of checkpoints share. Test-only.
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/file/open_folder.h"
#include "capstan/checkpoint.h"
#include "checkpoint/diff.h"
#include "checkpoint/directory.h"
#include "checkpoint/variable_stream.h"
#include "coordinator/helpers.h"
#include "testing/temp_dir.h"

namespace capstan::testing {

// Functions and datasets of a program that has none.
inline Definitions None() { return Definitions(); }

// A checkpoint as its files have it.
class SavedState {
 public:
  SavedState(const std::string& directory, const std::string& name)
      : files_(OpenFolder(directory, IfMissing::kFail)),
        checkpoint_(ValueOrThrow(OpenCheckpoint(*files_, name))) {}

  const Manifest& manifest() const { return checkpoint_.manifest; }
  const SavedVariable& Find(const std::string& name) const {
    for (const SavedVariable& variable : manifest().variables) {
      if (variable.name == name) return variable;
    }
    throw Error(ErrorCode::kNotFound, "'" + name + "' is not in it");
  }

  // All elements of a variable of f32, or of a slot.
  std::vector<float> Floats(const std::string& name,
                            const std::string& slot = {}) const {
    const OpenFiles open = ValueOrThrow(
        OpenFiles::Open(*files_, checkpoint_.name, checkpoint_.manifest));
    std::vector<std::byte> bytes;
    std::vector<std::byte> piece(4096);
    ThrowIfError(ReadStream(
        VariableStream(open, Find(name), slot), piece, [&](Bytes data) {
          bytes.insert(bytes.end(), data.begin(), data.end());
          return absl::OkStatus();
        }));
    std::vector<float> values(bytes.size() / sizeof(float));
    std::copy(bytes.begin(), bytes.end(),
              std::as_writable_bytes(std::span(values)).begin());
    return values;
  }

  void Verify() const {
    ThrowIfError(
        VerifyCheckpoint(*files_, checkpoint_.name, checkpoint_.manifest));
  }

  // What differs in values and slots, or in what the optimizers know of whole
  // variables; empty if nothing does.
  std::string DifferenceFrom(const SavedState& other) const {
    const CheckpointDiff diff =
        ValueOrThrow(DiffCheckpoints(side(), other.side(), true));
    std::string text;
    for (const std::string& name : diff.only_first) text += name + " is new; ";
    for (const std::string& name : diff.only_second)
      text += "no " + name + "; ";
    for (const std::string& type : diff.other_types) text += type + "; ";
    for (const TensorDiff& tensor : diff.tensors) {
      if (tensor.different == 0) continue;
      text += std::to_string(tensor.different) + " elements of " + tensor.name +
              "; ";
    }
    for (const SavedVariable& variable : manifest().variables) {
      const SavedShard mine = NewestShard(variable);
      const SavedShard its = NewestShard(other.Find(variable.name));
      if (mine.updates == its.updates &&
          mine.momentum_product == its.momentum_product) {
        continue;
      }
      text += std::to_string(mine.updates) + " and " +
              std::to_string(its.updates) + " updates of " + variable.name +
              "; ";
    }
    return text;
  }

 private:
  DiffSide side() const {
    return {.files = files_.get(),
            .path = checkpoint_.name,
            .manifest = &checkpoint_.manifest};
  }
  static SavedShard NewestShard(const SavedVariable& variable) {
    return *std::max_element(variable.shards.begin(), variable.shards.end(),
                             [](const SavedShard& a, const SavedShard& b) {
                               return a.updates < b.updates;
                             });
  }

  const std::unique_ptr<FileSystem> files_;
  const Checkpoint checkpoint_;
};

// Saves, waits until it is written, and opens it.
inline SavedState SaveIn(ClusterCoordinator& coordinator,
                         const std::string& directory) {
  CheckpointManager manager(coordinator, directory);
  const std::string name = manager.Save();
  manager.Wait();
  return SavedState(directory, name);
}

// The names in a directory, hidden ones too, in order.
inline std::vector<std::string> NamesIn(const std::string& directory) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace capstan::testing
