// The machine's disk.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/file/file_system.h"

namespace capstan {

// The files under one directory. Paths are resolved with openat2 beneath a
// descriptor of that directory, without following symbolic links, so neither a
// hostile name nor a planted link reaches anything outside. Thread-safe.
class PosixFileSystem final : public FileSystem {
 public:
  // Opens the directory `root`, which must exist; `root` itself may be absolute
  // or relative and may lead through symbolic links. NotFound,
  // FailedPrecondition (not a directory), PermissionDenied.
  static absl::StatusOr<std::unique_ptr<PosixFileSystem>> Open(
      std::string root);

  ~PosixFileSystem() override;
  PosixFileSystem(const PosixFileSystem&) = delete;
  PosixFileSystem& operator=(const PosixFileSystem&) = delete;

  absl::StatusOr<std::unique_ptr<ReadableFile>> OpenForRead(
      std::string_view path) const override;
  absl::StatusOr<std::unique_ptr<WritableFile>> CreateForWrite(
      std::string_view path, IfExists if_exists) override;
  absl::StatusOr<std::unique_ptr<WritableFile>> OpenForAppend(
      std::string_view path) override;
  absl::Status Rename(std::string_view from, std::string_view to) override;
  absl::Status Remove(std::string_view path) override;
  absl::Status CreateDir(std::string_view path) override;
  absl::Status RemoveDir(std::string_view path) override;
  absl::StatusOr<std::vector<std::string>> List(
      std::string_view path) const override;
  absl::Status SyncDir(std::string_view path) override;
  absl::StatusOr<FileInfo> Stat(std::string_view path) const override;

 private:
  PosixFileSystem(std::string root, int root_fd);

  // The path including the root, for messages.
  std::string FullPath(std::string_view path) const;

  const std::string root_;
  const int root_fd_;
};

}  // namespace capstan
