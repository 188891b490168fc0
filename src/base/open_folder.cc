#include "base/open_folder.h"

#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/posix_file_system.h"

namespace capstan {

std::unique_ptr<FileSystem> OpenFolder(const std::string& path,
                                       IfMissing if_missing) {
  const std::string folder = path.empty() ? "." : path;
  if (if_missing == IfMissing::kCreate) {
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    if (error) {
      throw Error(ErrorCode::kPermissionDenied,
                  absl::StrCat("cannot make the folder '", folder,
                               "': ", error.message()));
    }
  }
  return ValueOrThrow(PosixFileSystem::Open(folder));
}

FileInFolder OpenFolderOf(const std::string& path, IfMissing if_missing) {
  const std::filesystem::path whole(path);
  if (!whole.has_filename()) {
    throw Error(ErrorCode::kInvalidArgument,
                absl::StrCat("'", path, "' names no file"));
  }
  return {.folder = OpenFolder(whole.parent_path().string(), if_missing),
          .name = whole.filename().string()};
}

}  // namespace capstan
