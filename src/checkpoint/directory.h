// A directory of checkpoints: "ckpt-1", "ckpt-2", ... each of which is complete
// or absent, even if there is a crash while it is written or removed.
//
// A new one is written in ".tmp-ckpt-N", whose files are synced, the manifest
// last; then the directory is renamed. To remove one, it is first renamed to
// ".old-ckpt-N". The next writer removes what a crash leaves of these.
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
// ascending by number; does not read them. NotFound if there is no such
// directory.
absl::StatusOr<std::vector<std::string>> ListCheckpoints(
    const FileSystem& files, std::string_view directory);

// Reads the manifest of the checkpoint at `path`, and checks that the files
// exist with the right sizes. NotFound if there is no checkpoint, or it has no
// manifest; DataLoss if it is damaged; InvalidArgument if it is of a newer
// version.
absl::StatusOr<Checkpoint> OpenCheckpoint(const FileSystem& files,
                                          std::string_view path);

// Whether the error from opening a checkpoint means that it is absent or
// incomplete: NotFound, DataLoss. Only then may an older one be used instead.
// After any other error, such as PermissionDenied, that would lose saved work.
bool MayPassOver(const absl::Status& status);

// The newest checkpoint that opens. Those that MayPassOver are skipped, and the
// reason is appended to `damaged`, which may be null. NotFound if there is
// none.
absl::StatusOr<Checkpoint> NewestCheckpoint(const FileSystem& files,
                                            std::string_view directory,
                                            std::vector<std::string>* damaged);

// Reads every byte of the checkpoint, and checks every checksum. DataLoss,
// naming each bad file and tensor, if there are any.
absl::Status VerifyCheckpoint(const FileSystem& files, std::string_view path,
                              const Manifest& manifest);

// --- Writing.

// Removes what a crash has left, and creates the directory and its parents if
// they are missing.
absl::Status PrepareDirectory(FileSystem& files, std::string_view directory);

// A checkpoint that is being written: its files go into `path`.
struct NewCheckpoint {
  std::string directory;
  std::string name;  // "ckpt-13"
  std::string path;  // "DIRECTORY/.tmp-ckpt-13"
};
absl::StatusOr<NewCheckpoint> BeginCheckpoint(FileSystem& files,
                                              std::string_view directory);
// Writes the manifest, and durably turns what was written into the checkpoint
// `name`. DataLoss or InvalidArgument, before that, for a checkpoint that could
// not be opened again. If this fails, abandon the checkpoint; if only the last
// sync failed, it may exist.
absl::Status CommitCheckpoint(FileSystem& files, const NewCheckpoint& begun,
                              const Manifest& manifest);
// Removes what was written so far. OK if there is nothing.
absl::Status AbandonCheckpoint(FileSystem& files, const NewCheckpoint& begun);

// NotFound; InvalidArgument for a name that is not a checkpoint's.
absl::Status RemoveCheckpoint(FileSystem& files, std::string_view directory,
                              std::string_view name);

// Which checkpoints to keep: the `max_to_keep` newest (0: all), and one per
// `keep_every_hours` hours (0: none), starting with the oldest.
struct Retention {
  int max_to_keep = 5;
  double keep_every_hours = 0;
};
// The checkpoints to remove, oldest first. `kept` names those to keep in any
// case, such as the best. Pure.
std::vector<std::string> ToRemove(const std::vector<Checkpoint>& checkpoints,
                                  const Retention& retention,
                                  const std::vector<std::string>& kept);

}  // namespace capstan
