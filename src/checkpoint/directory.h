// A directory of checkpoints: "ckpt-1", "ckpt-2", ... each of which is whole or
// not there, whatever happens while it is written or removed.
//
// A new one is written in ".tmp-ckpt-N", whose files are synced; the manifest
// is its last file; then the directory is renamed. One that is removed is
// renamed to ".old-ckpt-N" first. What a crash leaves of these is removed by
// the next writer.
//
// Functions block. One writer at a time; any number of readers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/file/file_system.h"
#include "checkpoint/manifest.h"

namespace capstan {

struct Checkpoint {
  std::string name;  // "ckpt-12"
  uint64_t number = 0;
  Manifest manifest;
};

// The names of the checkpoints in `directory` ("" is the root of `files`),
// ascending by number; nothing is read. NotFound if there is no such directory.
absl::StatusOr<std::vector<std::string>> ListCheckpoints(
    const FileSystem& files, std::string_view directory);

// Reads the manifest of the checkpoint at `path`, and checks that the files are
// there with the right sizes. NotFound if there is none, or it has no manifest;
// DataLoss if it is damaged; InvalidArgument if it is of a newer version.
absl::StatusOr<Checkpoint> OpenCheckpoint(const FileSystem& files,
                                          std::string_view path);

// Whether what came of opening a checkpoint says that it is none, or not whole:
// NotFound, DataLoss. Only then may an older one be taken. After any other
// error, such as PermissionDenied, that would lose work that is there.
bool MayPassOver(const absl::Status& status);

// The newest one that opens. Those that MayPassOver are passed over, and why is
// appended to `damaged`, which may be null. NotFound if there is none.
absl::StatusOr<Checkpoint> NewestCheckpoint(const FileSystem& files,
                                            std::string_view directory,
                                            std::vector<std::string>* damaged);

// Reads every byte of it, and checks every checksum. DataLoss, naming each file
// and tensor that is bad, if any is.
absl::Status VerifyCheckpoint(const FileSystem& files, std::string_view path,
                              const Manifest& manifest);

// --- Writing.

// Removes what a crash has left, and makes the directory if it is missing, with
// those above it.
absl::Status PrepareDirectory(FileSystem& files, std::string_view directory);

// A checkpoint that is being written: its files go into `path`.
struct NewCheckpoint {
  std::string directory;
  std::string name;  // "ckpt-13"
  std::string path;  // "DIRECTORY/.tmp-ckpt-13"
};
absl::StatusOr<NewCheckpoint> BeginCheckpoint(FileSystem& files,
                                              std::string_view directory);
// Writes the manifest, and makes it the checkpoint `name`, durably. DataLoss or
// InvalidArgument, before that, for what could not be opened again. If it
// fails, abandon it; if only the last sync failed, the checkpoint may be there.
absl::Status CommitCheckpoint(FileSystem& files, const NewCheckpoint& begun,
                              const Manifest& manifest);
// Removes what was written so far. OK if nothing is there.
absl::Status AbandonCheckpoint(FileSystem& files, const NewCheckpoint& begun);

// NotFound; InvalidArgument for a name that is not one of a checkpoint.
absl::Status RemoveCheckpoint(FileSystem& files, std::string_view directory,
                              std::string_view name);

// Which checkpoints to keep: the `max_to_keep` newest (0: all), and one for
// each `keep_every_hours` hours (0: none), the oldest first.
struct Retention {
  int max_to_keep = 5;
  double keep_every_hours = 0;
};
// Those that are not to be kept, oldest first. `kept` are names that are kept
// in any case, such as the best. Pure.
std::vector<std::string> ToRemove(const std::vector<Checkpoint>& checkpoints,
                                  const Retention& retention,
                                  const std::vector<std::string>& kept);

}  // namespace capstan
