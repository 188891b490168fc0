#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/cat.h"
#include "base/status.h"
#include "checkpoint/check_files.h"
#include "checkpoint/checkpoint_name.h"
#include "checkpoint/directory.h"
#include "checkpoint/remove_tree.h"

namespace capstan {
namespace {

// The number in a name, with or without one of the prefixes.
std::optional<uint64_t> AnyNumber(std::string_view name) {
  for (const std::string_view prefix : {kBeingWritten, kBeingRemoved}) {
    if (name.starts_with(prefix)) name.remove_prefix(prefix.size());
  }
  return CheckpointNumber(name);
}

absl::Status WriteManifest(FileSystem& files, const NewCheckpoint& begun,
                           const std::string& text) {
  auto file = files.CreateForWrite(JoinPath(begun.path, kManifestName),
                                   IfExists::kFail);
  CAPSTAN_RETURN_IF_ERROR(file.status());
  CAPSTAN_RETURN_IF_ERROR((*file)->Append(AsBytes(text)));
  CAPSTAN_RETURN_IF_ERROR((*file)->Sync());
  return (*file)->Close();
}

absl::Status Commit(FileSystem& files, const NewCheckpoint& begun,
                    const Manifest& manifest) {
  const absl::StatusOr<std::string> text = EncodeManifest(manifest);
  CAPSTAN_RETURN_IF_ERROR(text.status());
  // A checkpoint that could not be opened again must not be committed.
  CAPSTAN_RETURN_IF_ERROR(DecodeManifest(*text).status());
  CAPSTAN_RETURN_IF_ERROR(CheckFiles(files, begun.path, manifest));
  CAPSTAN_RETURN_IF_ERROR(WriteManifest(files, begun, *text));
  CAPSTAN_RETURN_IF_ERROR(files.SyncDir(begun.path));
  CAPSTAN_RETURN_IF_ERROR(
      files.Rename(begun.path, JoinPath(begun.directory, begun.name)));
  return files.SyncDir(begun.directory);
}

}  // namespace

absl::StatusOr<NewCheckpoint> BeginCheckpoint(FileSystem& files,
                                              std::string_view directory) {
  const absl::StatusOr<std::vector<std::string>> names = files.List(directory);
  CAPSTAN_RETURN_IF_ERROR(names.status());
  uint64_t last = 0;
  for (const std::string& name : *names) {
    last = std::max(last, AnyNumber(name).value_or(0));
  }
  NewCheckpoint begun;
  begun.directory = directory;
  begun.name = CheckpointName(last + 1);
  begun.path =
      JoinPath(directory, absl::StrCat(ToAbsl(kBeingWritten), begun.name));
  CAPSTAN_RETURN_IF_ERROR(files.CreateDir(begun.path));
  return begun;
}

absl::Status CommitCheckpoint(FileSystem& files, const NewCheckpoint& begun,
                              const Manifest& manifest) {
  return WithContext(Commit(files, begun, manifest),
                     absl::StrCat("commit checkpoint \"",
                                  JoinPath(begun.directory, begun.name), "\""));
}

absl::Status AbandonCheckpoint(FileSystem& files, const NewCheckpoint& begun) {
  return RemoveTree(files, begun.path);
}

}  // namespace capstan
