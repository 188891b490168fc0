#include "base/file/open_folder.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/file/make_directories.h"
#include "base/file/posix_file_system.h"
#include "base/status.h"

namespace capstan {
namespace {

namespace fs = std::filesystem;

// "a/b/" becomes "a/b".
fs::path WithoutSlash(const fs::path& path) {
  return path.has_filename() ? path : path.parent_path();
}

// Uses a FileSystem, which creates private folders, rooted at the nearest
// existing one: a FileSystem follows no links, but a user's path may have some.
absl::Status MakeFolder(const std::string& folder) {
  std::error_code error;
  const fs::path whole =
      WithoutSlash(fs::weakly_canonical(fs::absolute(folder, error), error));
  if (error) {
    return absl::Status(absl::ErrnoToStatusCode(error.value()),
                        error.message());
  }
  fs::path top = whole;
  while (!fs::exists(top, error) && top.has_relative_path()) {
    top = top.parent_path();
  }
  const auto files = PosixFileSystem::Open(top.string());
  CAPSTAN_RETURN_IF_ERROR(files.status());
  // Another process may have created it first.
  if (top == whole) return absl::OkStatus();
  return MakeDirectories(**files, whole.lexically_relative(top).string());
}

}  // namespace

std::unique_ptr<FileSystem> OpenFolder(const std::string& path,
                                       IfMissing if_missing) {
  const std::string folder = path.empty() ? "." : path;
  auto opened = PosixFileSystem::Open(folder);
  if (absl::IsNotFound(opened.status()) && if_missing == IfMissing::kCreate) {
    ThrowIfError(
        WithContext(MakeFolder(folder),
                    absl::StrCat("cannot make the folder '", folder, "'")));
    opened = PosixFileSystem::Open(folder);
  }
  return ValueOrThrow(std::move(opened));
}

void SyncNameOf(const std::string& path) {
  std::error_code error;
  const fs::path whole =
      WithoutSlash(fs::canonical(path.empty() ? "." : path, error));
  if (error) return;
  const auto above = PosixFileSystem::Open(whole.parent_path().string());
  if (above.ok()) (*above)->SyncDir("").IgnoreError();
}

FileInFolder OpenFolderOf(const std::string& path, IfMissing if_missing) {
  const fs::path whole(path);
  if (!whole.has_filename()) {
    throw Error(ErrorCode::kInvalidArgument,
                absl::StrCat("'", path, "' names no file"));
  }
  return {.folder = OpenFolder(whole.parent_path().string(), if_missing),
          .name = whole.filename().string()};
}

}  // namespace capstan
