#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/checked_math.h"
#include "base/status.h"
#include "checkpoint/manifest_json.h"
#include "checkpoint/tensor_file/shown_text.h"
#include "variable/name.h"

namespace capstan {
namespace {

constexpr size_t kMaxFileName = 128;

// Where in the files each tensor is, and whether a variable needs it.
struct Use {
  bool needed = false;
};
using TensorsOfFile = std::map<std::string_view, Use>;
using Files = std::map<std::string_view, TensorsOfFile>;

absl::StatusOr<TensorsOfFile> CheckTensors(const SavedFile& file) {
  TensorsOfFile tensors;
  for (const SavedTensor& tensor : file.tensors) {
    if (!tensors.emplace(tensor.name, Use()).second) {
      return absl::InvalidArgumentError(
          absl::StrCat("file ", Shown(file.name), " holds tensor ",
                       Shown(tensor.name), " twice"));
    }
  }
  return tensors;
}

absl::StatusOr<Files> CheckFiles(const Manifest& manifest) {
  Files files;
  int64_t total = 0;
  for (const SavedFile& file : manifest.files) {
    CAPSTAN_RETURN_IF_ERROR(CheckFileName(file.name));
    const auto bytes = CheckedCast<int64_t>(file.bytes);
    const auto sum = bytes ? CheckedAdd(total, *bytes) : std::nullopt;
    if (!sum) {
      return absl::InvalidArgumentError(
          absl::StrCat("file ", Shown(file.name), " has ", file.bytes,
                       " bytes, more than there can be"));
    }
    total = *sum;
    absl::StatusOr<TensorsOfFile> tensors = CheckTensors(file);
    CAPSTAN_RETURN_IF_ERROR(tensors.status());
    const bool is_new = files.emplace(file.name, *std::move(tensors)).second;
    if (!is_new || file.name == kManifestName) {
      return absl::InvalidArgumentError(absl::StrCat(
          "file ", Shown(file.name),
          is_new ? " has the name of the manifest" : " is there twice"));
    }
  }
  return files;
}

absl::Status Need(const std::string& tensor, std::string_view file,
                  TensorsOfFile& tensors) {
  const auto found = tensors.find(tensor);
  if (found == tensors.end()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "tensor ", Shown(tensor), " is not in file ", Shown(file)));
  }
  if (found->second.needed) {
    return absl::InvalidArgumentError(
        absl::StrCat("tensor ", Shown(tensor), " of file ", Shown(file),
                     " stands for two things; rename the variable"));
  }
  found->second.needed = true;
  return absl::OkStatus();
}

absl::Status CheckShard(const SavedVariable& variable, const SavedShard& shard,
                        Files& files) {
  const auto file = files.find(shard.file);
  if (file == files.end()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "its rows [", shard.begin, ":", shard.end, ") are in file ",
        Shown(shard.file), ", which is not one"));
  }
  if (!std::isfinite(shard.momentum_product)) {
    return absl::InvalidArgumentError("its momentum_product is not finite");
  }
  CAPSTAN_RETURN_IF_ERROR(
      Need(ShardTensorName(variable.name, shard.begin, shard.end), shard.file,
           file->second));
  for (const std::string& slot : variable.slots) {
    CAPSTAN_RETURN_IF_ERROR(
        Need(ShardTensorName(variable.name, shard.begin, shard.end, slot),
             shard.file, file->second));
  }
  return absl::OkStatus();
}

absl::Status CheckShards(const SavedVariable& variable, Files& files) {
  const int64_t rows = variable.shape.num_rows();
  int64_t end = 0;
  for (const SavedShard& shard : variable.shards) {
    // A shard is empty only if there are no rows at all.
    if (shard.begin != end || shard.end < end ||
        (shard.end == end && rows != 0) || shard.end > rows) {
      return absl::InvalidArgumentError(
          absl::StrCat("rows [", shard.begin, ":", shard.end, ") of ", rows,
                       " do not follow on those before, which end at ", end));
    }
    CAPSTAN_RETURN_IF_ERROR(CheckShard(variable, shard, files));
    end = shard.end;
  }
  if (end == rows && !variable.shards.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("rows [", end, ":", rows, ") are in no shard"));
}

absl::Status CheckSlots(const SavedVariable& variable) {
  if (variable.optimizer.empty() && !variable.slots.empty()) {
    return absl::InvalidArgumentError("it has slots, but no optimizer");
  }
  std::set<std::string_view> slots;
  for (const std::string& slot : variable.slots) {
    CAPSTAN_RETURN_IF_ERROR(WithContext(CheckName(slot), "a slot"));
    if (!slots.insert(slot).second) {
      return absl::InvalidArgumentError(
          absl::StrCat("slot ", Shown(slot), " is there twice"));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckVariables(const Manifest& manifest, Files& files) {
  const SavedVariable* before = nullptr;
  for (const SavedVariable& variable : manifest.variables) {
    CAPSTAN_RETURN_IF_ERROR(CheckName(variable.name));
    if (before != nullptr && before->name >= variable.name) {
      return absl::InvalidArgumentError(
          absl::StrCat("variable ", Shown(variable.name), " stands behind ",
                       Shown(before->name), "; names must ascend"));
    }
    before = &variable;
    absl::Status status = CheckSlots(variable);
    if (status.ok()) status = CheckShards(variable, files);
    CAPSTAN_RETURN_IF_ERROR(
        WithContext(status, absl::StrCat("variable ", Shown(variable.name))));
  }
  return absl::OkStatus();
}

absl::Status CheckSteps(const Manifest& manifest) {
  uint64_t before = manifest.step;
  for (const uint64_t step : manifest.applied_above) {
    if (step <= before) {
      return absl::InvalidArgumentError(
          absl::StrCat("applied_above holds ", step, " behind ", before));
    }
    before = step;
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckFileName(std::string_view name) {
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
  };
  if (!name.empty() && name.size() <= kMaxFileName && name.front() != '.' &&
      std::all_of(name.begin(), name.end(), fits)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      Shown(name), " is not a name for a file of a checkpoint: use 1 to ",
      kMaxFileName, " of A-Z, a-z, 0-9, '.', '_' and '-', not a dot first"));
}

std::string ShardTensorName(std::string_view variable, int64_t begin,
                            int64_t end, std::string_view slot) {
  const absl::string_view name(variable.data(), variable.size());
  return absl::StrCat(name, "[", begin, ":", end, "]", slot.empty() ? "" : ".",
                      absl::string_view(slot.data(), slot.size()));
}

absl::Status CheckManifest(const Manifest& manifest) {
  CAPSTAN_RETURN_IF_ERROR(CheckSteps(manifest));
  absl::StatusOr<Files> files = CheckFiles(manifest);
  CAPSTAN_RETURN_IF_ERROR(files.status());
  CAPSTAN_RETURN_IF_ERROR(CheckVariables(manifest, *files));
  for (const auto& [file, tensors] : *files) {
    for (const auto& [tensor, use] : tensors) {
      if (!use.needed) {
        return absl::InvalidArgumentError(absl::StrCat("tensor ", Shown(tensor),
                                                       " of file ", Shown(file),
                                                       " is of no variable"));
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace capstan
