#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "checkpoint/check_files.h"
#include "checkpoint/checkpoint_name.h"
#include "checkpoint/directory.h"

namespace capstan {
namespace {

absl::StatusOr<std::string> ReadManifest(const FileSystem& files,
                                         std::string_view path) {
  const absl::StatusOr<FileInfo> directory = files.Stat(path);
  CAPSTAN_RETURN_IF_ERROR(directory.status());
  if (directory->kind != FileKind::kDirectory) {
    return absl::DataLossError("it is not a directory");
  }
  const std::string manifest = JoinPath(path, kManifestName);
  absl::StatusOr<FileInfo> info = files.Stat(manifest);
  if (absl::IsNotFound(info.status())) {
    return absl::NotFoundError(absl::StrCat(
        "it has no ",
        absl::string_view(kManifestName.data(), kManifestName.size()),
        ": not a checkpoint, or a part of one"));
  }
  CAPSTAN_RETURN_IF_ERROR(info.status());
  if (info->size > kMaxManifestBytes) {
    return absl::DataLossError(absl::StrCat("a manifest of ", info->size,
                                            " bytes, more than the limit of ",
                                            kMaxManifestBytes));
  }
  return ReadFile(files, manifest, kMaxManifestBytes);
}

absl::StatusOr<Manifest> Open(const FileSystem& files, std::string_view path) {
  const absl::StatusOr<std::string> text = ReadManifest(files, path);
  CAPSTAN_RETURN_IF_ERROR(text.status());
  absl::StatusOr<Manifest> manifest = DecodeManifest(*text);
  CAPSTAN_RETURN_IF_ERROR(manifest.status());
  CAPSTAN_RETURN_IF_ERROR(CheckFiles(files, path, *manifest));
  return manifest;
}

}  // namespace

absl::Status CheckFiles(const FileSystem& files, std::string_view path,
                        const Manifest& manifest) {
  for (const SavedFile& file : manifest.files) {
    const absl::StatusOr<FileInfo> info = files.Stat(JoinPath(path, file.name));
    std::string why;
    if (absl::IsNotFound(info.status())) {
      why = "is missing";
    } else if (!info.ok()) {
      return info.status();
    } else if (info->kind != FileKind::kFile) {
      why = "is not a file";
    } else if (info->size != file.bytes) {
      why = absl::StrCat("has ", info->size, " bytes and not ", file.bytes,
                         ", as the manifest says");
    } else {
      continue;
    }
    return absl::DataLossError(absl::StrCat("file \"", file.name, "\" ", why));
  }
  return absl::OkStatus();
}

absl::StatusOr<Checkpoint> OpenCheckpoint(const FileSystem& files,
                                          std::string_view path) {
  absl::StatusOr<Manifest> manifest = Open(files, path);
  CAPSTAN_RETURN_IF_ERROR(WithContext(
      manifest.status(),
      absl::StrCat("checkpoint \"", absl::string_view(path.data(), path.size()),
                   "\"")));
  const std::string_view name = NameOf(path);
  return Checkpoint{.name = std::string(name),
                    .number = CheckpointNumber(name).value_or(0),
                    .manifest = *std::move(manifest)};
}

}  // namespace capstan
