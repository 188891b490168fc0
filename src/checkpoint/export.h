// Exports a checkpoint as one file for other programs: whole variables under
// their names, put together from their shards.
//
// Streaming: only a piece of a variable is in memory at a time. Everything is
// verified while it is read, and the file appears, complete and durable, only
// if all of it was sound; it replaces an existing one. Functions block. Errors:
// DataLoss, naming the bad file and tensor; InvalidArgument if a slot would
// have the name of a variable; those of the file systems.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/file/file_system.h"
#include "checkpoint/manifest.h"

namespace capstan {

struct ExportOptions {
  // The slots too: "momentum" of "w" as "w.momentum".
  bool slots = false;
};

// Writes a .safetensors file; its metadata says which step it is from.
absl::Status ExportSafetensors(const FileSystem& from,
                               std::string_view checkpoint_path,
                               const Manifest& manifest, FileSystem& to,
                               std::string_view file,
                               const ExportOptions& options);

// Writes an .npz file, for numpy.load: a zip archive of .npy files, not
// compressed. numpy has no bf16, so such variables become f32, which is exact.
// Reads the checkpoint twice, because a zip archive has checksums before the
// data.
absl::Status ExportNpz(const FileSystem& from, std::string_view checkpoint_path,
                       const Manifest& manifest, FileSystem& to,
                       std::string_view file, const ExportOptions& options);

// The exported tensors, in the order of the manifest.
struct ExportedTensor {
  std::string name;
  const SavedVariable* variable = nullptr;  // in the manifest
  std::string slot;                         // empty for the values
  DType dtype = DType::kF32;                // as saved
};
absl::StatusOr<std::vector<ExportedTensor>> ListExported(
    const Manifest& manifest, const ExportOptions& options);

}  // namespace capstan
